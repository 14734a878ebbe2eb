import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import { foldedName } from '../../lib/folded-name.ts';
import { parseParameters } from '../../lib/header-parameters.ts';
import type { PartHead } from '../../lib/multipart.ts';
import { type EditRules, type ImageFamily, MEGABYTE } from './families.ts';
import { checkFamily } from './family-rules.ts';
import { editParameters, type ImageParameters, readFormParameters } from './parameters.ts';

/** The form of an image edit (contract 4.6), with only the first bytes of its images. */
export interface EditForm {
  readonly texts: ReadonlyMap<string, Buffer>;
  readonly images: readonly FormFile[];
  readonly mask: FormFile | null;
}

/** A file in a form. Its first bytes show its format, and width and height in pixels; `null`: these bytes do not contain them. */
export interface FormFile {
  readonly sizeBytes: number;
  readonly format: 'png' | 'jpeg' | 'webp' | 'other';
  readonly width: number | null;
  readonly height: number | null;
}

export const DEFAULT_EDIT_MODEL = 'gpt-image-1.5';

export const EDIT_IMAGES_MAX = 16;

const MASK_BYTES_BELOW = 4 * MEGABYTE;

/** Maximum bytes of a text part. A prompt for a known model has at most 32,000 characters, which are at most 128,000 bytes in UTF-8. */
export const TEXT_PART_BYTES_MAX = 131_072;

type PartKind = 'image' | 'mask' | 'text' | 'listedCount' | 'other';

/** Returns the kind of a part by its name. `other` parts are forwarded unread. */
export function partKind(name: string): PartKind {
  if (name === 'image' || name === 'image[]') return 'image';
  if (name === 'mask') return 'mask';
  if (name === 'n[]') return 'listedCount';
  return name === 'prompt' || Object.hasOwn(editParameters, name) ? 'text' : 'other';
}

const readNames = new Map(
  ['prompt', 'image', 'mask', ...Object.keys(editParameters)].map((name) => [foldedName(name), name]),
);

/** Refuses names that some servers read as a known one: they ignore case or white space, or read `size[]` and `size.0` as lists. */
export function requireOtherName(name: string): void {
  const lax = foldedName(percentDecoded(name).replace(BLANK, '').split(/[[.]/, 1)[0]!);
  const readAs = readNames.get(lax);
  if (readAs !== undefined) {
    const names = readAs === 'image' ? '"image" or "image[]"' : `"${readAs}"`;
    throw invalidRequest(`A part has a name that can be mistaken for "${readAs}". Name the part ${names}.`, readAs);
  }
  // This part would set the charset of all text parts of an HTML form.
  if (name === '_charset_') throw invalidRequest('The form must be in UTF-8, without a part "_charset_".', name);
}

/** White space and control characters, which some parsers remove from names. */
const BLANK = /[\p{C}\p{Z}]+/gu;

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Charsets in which ASCII text has the same bytes. Except for the prompt, all text that the gateway reads is ASCII. */
const CHARSETS = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii', 'iso-8859-1']);

/** Refuses text parts with a file name or an unsupported charset, because servers differ in how they read them. */
export function requirePlainText({ name, filename, contentType }: PartHead): void {
  if (filename !== null) throw invalidRequest(`The part "${name}" must not have a file name.`, name);
  if (contentType === null) return;
  const type = parseParameters(contentType);
  const isKnown = type !== null && CHARSETS.has(type.parameters.get('charset')?.toLowerCase() ?? 'utf-8');
  if (!isKnown || [...type.parameters.keys()].some((parameter) => parameter.includes('*'))) {
    throw invalidRequest(`The Content-Type of the part "${name}" must not name a charset other than UTF-8.`, name);
  }
}

/** Reads the number of images from the part `n[]`. Some servers ignore it; reservation and maximum charge assume that they do not. */
export function readListedCount(bytes: Buffer): number {
  const text = bytes.toString('latin1');
  const isCount = /^[1-9][0-9]?$/.test(text) && Number(text) <= IMAGES_MAX;
  if (!isCount)
    throw invalidRequest(`The part "n[]" must be a whole number from 1 to ${IMAGES_MAX}. Use "n" instead.`, 'n');
  return Number(text);
}

const IMAGES_MAX = 10;

export function tooManyImages(imagesMax = EDIT_IMAGES_MAX): GatewayError {
  const most = imagesMax === 1 ? 'one image' : `${imagesMax} images`;
  return invalidRequest(`The form contains more than ${most}.`, 'image');
}

/** Reads the parameters of a form. @throws GatewayError `invalidRequest` with the invalid part, such as `image[2]` for the third image */
export function readEdit(form: EditForm): ImageParameters {
  const fields = readFormParameters(editParameters, form.texts);
  checkImageCount(form, EDIT_IMAGES_MAX);
  for (const [index, image] of form.images.entries()) {
    if (image.sizeBytes === 0) throw blamed(imageParam(index), 'must not be empty');
  }
  checkMask(form);
  return fields;
}

/** Checks a form. @throws GatewayError `modelLacksOperation` if the model cannot edit images; `invalidRequest` with the invalid part */
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
    throw blamed(param, `must be one of ${rules.imageFormats.join(', ')}`);
  }
  if (image.sizeBytes >= rules.imageBytesBelow) throw tooLarge(param, rules.imageBytesBelow);
  if (rules.isSquareOnly && (image.width === null || image.width !== image.height))
    throw blamed(param, 'must be square');
}

function checkMask({ images, mask }: EditForm): void {
  if (mask === null) return;
  if (mask.format !== 'png' || mask.width === null || mask.height === null) throw blamed('mask', 'must be a PNG');
  if (mask.sizeBytes >= MASK_BYTES_BELOW) throw tooLarge('mask', MASK_BYTES_BELOW);
  if (!isSizeOf(mask, images[0]!)) throw blamed('mask', 'must have the same size as the first image');
}

/** Whether a mask matches the size of an image. The photo of a camera can be stored rotated, except in PNG. */
function isSizeOf(mask: FormFile, image: FormFile): boolean {
  if (image.width === null || image.height === null) return true;
  if (mask.width === image.width && mask.height === image.height) return true;
  return image.format !== 'png' && mask.width === image.height && mask.height === image.width;
}

function imageParam(index: number): string {
  return `image[${index}]`;
}

function tooLarge(param: string, bytesBelow: number): GatewayError {
  return blamed(param, `must be smaller than ${bytesBelow / MEGABYTE} MB`);
}

function blamed(param: string, problem: string): GatewayError {
  return invalidRequest(`The part "${param}" ${problem}.`, param);
}
