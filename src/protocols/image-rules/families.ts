import type { ImageParameters } from './parameters.ts';
import type { SizeLimits } from './sizes.ts';

/** The parameters whose value is one of a list, and of which a model may take some. */
export type ChoiceName = Extract<
  keyof ImageParameters,
  'background' | 'input_fidelity' | 'moderation' | 'output_format' | 'quality' | 'response_format' | 'style'
>;

/** What a family of image models accepts. It only narrows what the contract says of all models. */
export interface ImageFamily {
  readonly name: string;
  readonly ids: RegExp;
  /** In Unicode code points. */
  readonly promptCharactersMax: number;
  /** The highest `n`. */
  readonly imagesMax: number;
  /** The values taken of each parameter: none if the list is empty, any that the contract knows where it is `null`. */
  readonly values: Readonly<Record<ChoiceName, readonly string[] | null>>;
  /** Sizes by name, and whatever keeps to the limits; `null` if nothing is known. */
  readonly sizes: { readonly named: readonly string[]; readonly limits: SizeLimits | null } | null;
  /** Whether `stream` may be true, and so whether there are partial images. */
  readonly canStream: boolean;
  readonly canCompress: boolean;
  /** What an edit takes; `null` if the model cannot edit. */
  readonly edit: EditRules | null;
}

export interface EditRules {
  /** The most `image` parts. */
  readonly imagesMax: number;
  /** A file has to be smaller than this. */
  readonly imageBytesBelow: number;
  readonly imageFormats: readonly ('png' | 'jpeg' | 'webp')[];
  /** Whether the image has to be as wide as it is high. */
  readonly isSquareOnly: boolean;
}

/**
 * One MB of a file limit. The contract's gate of 805 MiB for a body (section 8) is 16 images of 50 MiB, a mask of 4 MiB
 * and 1 MiB for the rest, so its MB is 2^20 bytes.
 */
export const MEGABYTE = 2 ** 20;

/**
 * The limits of gpt-image-2, as the vendor documents them. Of gpt-image-2.5 the same are known but for the fewest
 * pixels, which are left to the provider.
 */
const limitsOf2: SizeLimits = {
  edgeMultiple: 16,
  edgeMax: 3840,
  ratioMax: 3,
  pixelsMin: 655_360,
  pixelsMax: 8_294_400,
};
const limitsOf25: SizeLimits = { ...limitsOf2, pixelsMin: 1 };

const standardSizes = ['1024x1024', '1536x1024', '1024x1536', 'auto'];

/** What all GPT Image models have in common (contract 4.5, 4.6). They always return base64. */
const gptImage = {
  promptCharactersMax: 32_000,
  imagesMax: 10,
  values: {
    background: null,
    input_fidelity: [],
    moderation: null,
    output_format: null,
    quality: ['low', 'medium', 'high', 'auto'],
    response_format: [],
    style: [],
  },
  sizes: { named: standardSizes, limits: null },
  canStream: true,
  canCompress: true,
  edit: {
    imagesMax: 16,
    imageBytesBelow: 50 * MEGABYTE,
    imageFormats: ['png', 'webp', 'jpeg'],
    isSquareOnly: false,
  },
} satisfies Omit<ImageFamily, 'name' | 'ids'>;

/** What DALL·E models have in common. `auto` is the quality that they choose by themselves, so it is always there. */
const dallE = {
  imagesMax: 10,
  values: {
    background: [],
    input_fidelity: [],
    moderation: [],
    output_format: [],
    quality: ['standard', 'auto'],
    response_format: null,
    style: [],
  },
  canStream: false,
  canCompress: false,
} satisfies Partial<ImageFamily>;

/** What differs between image models stands here and nowhere else. Sources: contract 4.5, 4.6. */
export const imageFamilies: readonly ImageFamily[] = [
  {
    ...dallE,
    name: 'dall-e-2',
    ids: idsOf('dall-e-2'),
    promptCharactersMax: 1000,
    sizes: { named: ['256x256', '512x512', '1024x1024'], limits: null },
    edit: { imagesMax: 1, imageBytesBelow: 4 * MEGABYTE, imageFormats: ['png'], isSquareOnly: true },
  },
  {
    ...dallE,
    name: 'dall-e-3',
    ids: idsOf('dall-e-3'),
    promptCharactersMax: 4000,
    imagesMax: 1,
    values: { ...dallE.values, quality: ['standard', 'hd', 'auto'], style: null },
    sizes: { named: ['1024x1024', '1792x1024', '1024x1792'], limits: null },
    edit: null,
  },
  {
    ...gptImage,
    name: 'gpt-image-1',
    ids: idsOf('gpt-image-1'),
    values: { ...gptImage.values, input_fidelity: ['low', 'high'] },
  },
  {
    ...gptImage,
    name: 'gpt-image-1-mini',
    ids: idsOf('gpt-image-1-mini'),
    values: { ...gptImage.values, input_fidelity: ['low'] },
  },
  {
    ...gptImage,
    name: 'gpt-image-1.5',
    ids: idsOf('gpt-image-1\\.5'),
    values: { ...gptImage.values, input_fidelity: ['low', 'high'] },
  },
  {
    ...gptImage,
    name: 'gpt-image-2',
    ids: idsOf('gpt-image-2'),
    sizes: { named: standardSizes, limits: limitsOf2 },
  },
  {
    ...gptImage,
    name: 'gpt-image-2.5',
    ids: idsOf('gpt-image-2\\.5-[a-z]+'),
    values: {
      ...gptImage.values,
      input_fidelity: null,
      quality: ['low', 'medium', 'high', 'xhigh', 'max', 'auto'],
    },
    sizes: { named: standardSizes, limits: limitsOf25 },
  },
  {
    // The vendor lists these models without values; the rules of all GPT Image models apply to them.
    ...gptImage,
    name: 'newer GPT Image models',
    ids: idsOf('(?:gpt-image-2\\.6-[a-z]+|chatgpt-image-latest)'),
    values: { ...gptImage.values, input_fidelity: null, quality: null },
    sizes: null,
  },
];

/** An id with or without the date of a snapshot, and with or without a vendor's name in front. */
function idsOf(pattern: string): RegExp {
  return new RegExp(`^(?:[^/]+/)?${pattern}(?:-[0-9]{4}-[0-9]{2}-[0-9]{2})?$`);
}

/** The family of a model; `null` if it is unknown, so that only what the contract says of all models applies. */
export function familyOf(modelId: string): ImageFamily | null {
  return imageFamilies.find(({ ids }) => ids.test(modelId)) ?? null;
}
