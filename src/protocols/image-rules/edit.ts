import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import { foldedName } from '../../lib/folded-name.ts';
import { parseParameters } from '../../lib/header-parameters.ts';
import type { PartHead } from '../../lib/multipart.ts';
import { type EditRules, type ImageFamily, MEGABYTE } from './families.ts';
import { checkFamily } from './family-rules.ts';
import { editParameters, type ImageParameters, readFormParameters } from './parameters.ts';

/**
 * The form of an edit (contract 4.6) without the bytes of its images: what the reader kept of each part while it was
 * stored.
 */
export interface EditForm {
  /** The text parts that the gateway reads, by their names. */
  readonly texts: ReadonlyMap<string, Buffer>;
  /** Parts named `image` or `image[]`, in the order of the form. */
  readonly images: readonly FormFile[];
  /** The part named `mask`. */
  readonly mask: FormFile | null;
}

/**
 * A file of the form, by its own bytes: clients without an SDK declare every file `application/octet-stream`. Width and
 * height are in pixels, `null` where the beginning of the file does not say.
 */
export interface FormFile {
  readonly sizeBytes: number;
  readonly format: 'png' | 'jpeg' | 'webp' | 'other';
  readonly width: number | null;
  readonly height: number | null;
}

/** The model of an edit whose form has no `model` part. */
export const DEFAULT_EDIT_MODEL = 'gpt-image-1.5';

/** The most `image` parts of any model. */
export const EDIT_IMAGES_MAX = 16;

const MASK_BYTES_BELOW = 4 * MEGABYTE;

/**
 * The most that is kept of a text part that is read. The longest prompt of any known model, 32,000 characters, takes
 * 128,000 bytes in UTF-8.
 */
export const TEXT_PART_BYTES_MAX = 131_072;

type PartKind = 'image' | 'mask' | 'text' | 'listedCount' | 'other';

/** What a part is, by its name alone. Other parts pass untouched, whatever they contain. */
export function partKind(name: string): PartKind {
  if (name === 'image' || name === 'image[]') return 'image';
  if (name === 'mask') return 'mask';
  if (name === 'n[]') return 'listedCount';
  return name === 'prompt' || Object.hasOwn(editParameters, name) ? 'text' : 'other';
}

/** What an edit is read from, by folded name. */
const readNames = new Map(
  ['prompt', 'image', 'mask', ...Object.keys(editParameters)].map((name) => [foldedName(name), name]),
);

/**
 * For the reader of the form: refuses a part that the gateway does not read and that another server could read as one
 * of these. Servers take a name without regard to case, drop white space, or make a list of `size[]` and `size.0`.
 */
export function requireOtherName(name: string): void {
  const lax = foldedName(percentDecoded(name).replace(BLANK, '').split(/[[.]/, 1)[0]!);
  const readAs = readNames.get(lax);
  if (readAs !== undefined) {
    const names = readAs === 'image' ? '"image" or "image[]"' : `"${readAs}"`;
    throw invalidRequest(`A part is read as "${readAs}" by some, but is not named so; name it ${names}.`, readAs);
  }
  // In HTML forms this part names the charset of all texts.
  if (name === '_charset_') throw invalidRequest('The form is expected in UTF-8, without a part "_charset_".', name);
}

/** White space and control characters, which some readers drop. */
const BLANK = /[\p{C}\p{Z}]+/gu;

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** ASCII is the same in them, and of what the gateway reads all but the prompt is ASCII. */
const CHARSETS = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii', 'iso-8859-1']);

/**
 * For the reader of the form: some servers look for fields among texts only, others among files too, and some decode a
 * text by the charset of its part.
 */
export function requirePlainText({ name, filename, contentType }: PartHead): void {
  if (filename !== null) throw invalidRequest(`The part "${name}" must not have a file name.`, name);
  if (contentType === null) return;
  const type = parseParameters(contentType);
  const isKnown = type !== null && CHARSETS.has(type.parameters.get('charset')?.toLowerCase() ?? 'utf-8');
  if (!isKnown || [...type.parameters.keys()].some((parameter) => parameter.includes('*'))) {
    throw invalidRequest(`The Content-Type of the part "${name}" must not name a charset other than UTF-8.`, name);
  }
}

/**
 * The number of images that a part `n[]` asks for at servers that read a list of one item as the item; other servers
 * ignore it. The reservation and the bound of the charge assume that it counts.
 */
export function readListedCount(bytes: Buffer): number {
  const text = bytes.toString('latin1');
  const isCount = /^[1-9][0-9]?$/.test(text) && Number(text) <= IMAGES_MAX;
  if (!isCount) throw invalidRequest(`The part "n[]" must be a whole number from 1 to ${IMAGES_MAX}; use "n".`, 'n');
  return Number(text);
}

const IMAGES_MAX = 10;

/** For the reader of the form: an image beyond `EDIT_IMAGES_MAX` refuses the form at once. */
export function tooManyImages(imagesMax = EDIT_IMAGES_MAX): GatewayError {
  const most = imagesMax === 1 ? 'one image' : `${imagesMax} images`;
  return invalidRequest(`The form has more than ${most}.`, 'image');
}

/**
 * Reads an edit as far as its rules are the same for all models; `model` is `null` if the form leaves it to
 * `DEFAULT_EDIT_MODEL`.
 *
 * @throws GatewayError `invalidRequest` with the part to blame, such as `image[2]` for the third image
 */
export function readEdit(form: EditForm): ImageParameters {
  const fields = readFormParameters(editParameters, form.texts);
  checkImageCount(form, EDIT_IMAGES_MAX);
  for (const [index, image] of form.images.entries()) {
    if (image.sizeBytes === 0) throw blamed(imageParam(index), 'is empty');
  }
  checkMask(form);
  return fields;
}

/**
 * Checks an edit against what its model takes; a model of no known family is the provider's to check.
 *
 * @throws GatewayError `modelLacksOperation` if the model cannot edit, `invalidRequest` with the part to blame
 */
export function checkEdit(fields: ImageParameters, form: EditForm, family: ImageFamily | null): void {
  if (family === null) return;
  if (family.edit === null) {
    throw new GatewayError('modelLacksOperation', { message: `${family.name} cannot edit images.`, param: 'model' });
  }
  checkFamily(fields, family);
  checkImageCount(form, family.edit.imagesMax);
  for (const [index, image] of form.images.entries()) checkImage(imageParam(index), image, family.edit);
}

function checkImageCount({ images }: EditForm, imagesMax: number): void {
  if (images.length === 0) throw invalidRequest('The part "image" is required.', 'image');
  if (images.length > imagesMax) throw tooManyImages(imagesMax);
}

function checkImage(param: string, image: FormFile, rules: EditRules): void {
  if (!rules.imageFormats.some((format) => format === image.format)) {
    throw blamed(param, `is not one of ${rules.imageFormats.join(', ')}`);
  }
  if (image.sizeBytes >= rules.imageBytesBelow) throw tooLarge(param, rules.imageBytesBelow);
  if (rules.isSquareOnly && (image.width === null || image.width !== image.height))
    throw blamed(param, 'is not square');
}

function checkMask({ images, mask }: EditForm): void {
  if (mask === null) return;
  if (mask.format !== 'png' || mask.width === null || mask.height === null) throw blamed('mask', 'is not a PNG');
  if (mask.sizeBytes >= MASK_BYTES_BELOW) throw tooLarge('mask', MASK_BYTES_BELOW);
  if (!isSizeOf(mask, images[0]!)) throw blamed('mask', 'is not of the same size as the first image');
}

/**
 * Whether a mask is as large as the image, or may be. A camera stores an upright photograph lying on its side and says so
 * in its metadata; only PNG is always stored as it is shown.
 */
function isSizeOf(mask: FormFile, image: FormFile): boolean {
  if (image.width === null || image.height === null) return true;
  if (mask.width === image.width && mask.height === image.height) return true;
  return image.format !== 'png' && mask.width === image.height && mask.height === image.width;
}

function imageParam(index: number): string {
  return `image[${index}]`;
}

function tooLarge(param: string, bytesBelow: number): GatewayError {
  return blamed(param, `is not under ${bytesBelow / MEGABYTE} MB`);
}

function blamed(param: string, problem: string): GatewayError {
  return invalidRequest(`The part "${param}" ${problem}.`, param);
}
