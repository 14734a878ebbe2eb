import type { ImageParameters } from './parameters.ts';
import type { SizeLimits } from './sizes.ts';

export type ChoiceName = Extract<
  keyof ImageParameters,
  'background' | 'input_fidelity' | 'moderation' | 'output_format' | 'quality' | 'response_format' | 'style'
>;

/** What a family of image models supports. It can only restrict what the contract allows. */
export interface ImageFamily {
  readonly name: string;
  readonly ids: RegExp;
  /** Maximum length of a prompt, in Unicode code points. */
  readonly promptCharactersMax: number;
  readonly imagesMax: number;
  /** Supported values by parameter. Empty: the family does not have this parameter. `null`: all values of the contract. */
  readonly values: Readonly<Record<ChoiceName, readonly string[] | null>>;
  /** Supported sizes: the `named` ones, and all within `limits`. `null`: unknown. */
  readonly sizes: { readonly named: readonly string[]; readonly limits: SizeLimits | null } | null;
  readonly canStream: boolean;
  readonly canCompress: boolean;
  /** Rules for edits; `null`: the family cannot edit images. */
  readonly edit: EditRules | null;
}

export interface EditRules {
  readonly imagesMax: number;
  readonly imageBytesBelow: number;
  readonly imageFormats: readonly ('png' | 'jpeg' | 'webp')[];
  readonly isSquareOnly: boolean;
}

/** A megabyte in the contract is 2^20 bytes: 805 MiB, its limit of a body (section 8), are 16 x 50 MiB, a mask of 4 MiB, and 1 MiB. */
export const MEGABYTE = 2 ** 20;

/** Limits of gpt-image-2 (vendor's documentation). For gpt-image-2.5 no minimum of pixels is documented. */
const limitsOf2: SizeLimits = {
  edgeMultiple: 16,
  edgeMax: 3840,
  ratioMax: 3,
  pixelsMin: 655_360,
  pixelsMax: 8_294_400,
};
const limitsOf25: SizeLimits = { ...limitsOf2, pixelsMin: 1 };

const standardSizes = ['1024x1024', '1536x1024', '1024x1536', 'auto'];

/** Rules of all GPT Image models (contract 4.5, 4.6). They always return base64. */
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

/** Rules of all DALL·E models. `auto` is always accepted. */
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
    // For these models, the vendor documents no qualities and sizes, so all are allowed.
    ...gptImage,
    name: 'newer GPT Image models',
    ids: idsOf('(?:gpt-image-2\\.6-[a-z]+|chatgpt-image-latest)'),
    values: { ...gptImage.values, input_fidelity: null, quality: null },
    sizes: null,
  },
];

function idsOf(pattern: string): RegExp {
  return new RegExp(`^(?:[^/]+/)?${pattern}(?:-[0-9]{4}-[0-9]{2}-[0-9]{2})?$`);
}

/** Returns the family of a model; `null` if it is unknown, so that only the contract's rules apply. */
export function familyOf(modelId: string): ImageFamily | null {
  return imageFamilies.find(({ ids }) => ids.test(modelId)) ?? null;
}
