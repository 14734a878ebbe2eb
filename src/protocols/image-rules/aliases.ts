import { invalidRequest } from '../../errors/gateway-error.ts';
import { foldedName } from '../../lib/folded-name.ts';

/** Other names for parameters that determine the price of images. They are refused, because what they ask for would not be charged. */
const aliases: Readonly<Record<'size' | 'quality' | 'n', readonly string[]>> = {
  size: [
    ...['image_size', 'img_size', 'output_size', 'target_size', 'image_resolution', 'output_resolution', 'resolution'],
    ...['image_dimensions', 'image_width', 'image_height', 'width', 'height', 'megapixels'],
  ],
  quality: ['image_quality', 'quality_level', 'quality_mode'],
  n: [
    ...['num_images', 'number_of_images', 'n_images', 'num_images_per_prompt', 'images_per_prompt', 'image_count'],
    ...['images_count', 'max_images', 'num_outputs', 'batch_size', 'batch_count', 'num_samples', 'number_of_samples'],
    ...['sample_count', 'n_samples', 'samples', 'n_iter', 'num_generations', 'image_num', 'image_number', 'num_image'],
    ...['img_num', 'img_count', 'n_image', 'num_results', 'number_results', 'num_variations', 'variations', 'quantity'],
    ...['count', 'candidate_count', 'num_return_sequences', 'best_of', 'enable_sequential', 'enable_interleave'],
  ],
};

/** Names that are read only at the top level of a JSON body. */
const OWN = [...Object.keys(aliases), 'sequential_image_generation', 'sequential_image_generation_options'];
/** The names in `OWN` that no vendor documents for forms. */
const SEQUENCE = OWN.slice(Object.keys(aliases).length);

/** Objects whose members some servers treat as top-level parameters. */
const CONTAINERS = ['extra_body', 'parameters', 'image_config', 'image_generation_config', 'generation_config'];

const byAlias = new Map(Object.entries(aliases).flatMap(([own, names]) => names.map((name) => [name, own] as const)));

export interface ImageMembers {
  has(name: string): boolean;
  inside(name: string): ImageMembers | null;
}

/** @throws GatewayError `invalidRequest` if a member gives the number, size or quality of images under another name */
export function refuseAliases(members: ImageMembers): void {
  for (const [alias, own] of byAlias) if (members.has(alias)) throw misnamed(alias, own);
  for (const container of CONTAINERS) {
    const inside = members.inside(container);
    if (inside === null) continue;
    for (const own of OWN) if (inside.has(own)) throw misnamed(`${container}.${own}`, own);
    for (const [alias, own] of byAlias) if (inside.has(alias)) throw misnamed(`${container}.${alias}`, own);
  }
}

const byFoldedAlias = new Map(
  [...byAlias, ...SEQUENCE.map((name) => [name, 'n'] as const)].map(([alias, own]) => [foldedName(alias), own]),
);
const foldedContainers = new Set(CONTAINERS.map((container) => foldedName(container)));

export function refuseAliasPart(name: string): void {
  const [first = ''] = name.trim().split(/[[.]/, 1);
  const folded = foldedName(first);
  const own = byFoldedAlias.get(folded);
  if (own !== undefined) throw misnamed(first, own);
  if (foldedContainers.has(folded)) {
    throw invalidRequest(`The parameter "${first}" is not supported. Send its members as separate parameters.`, first);
  }
}

function misnamed(alias: string, own: string): Error {
  return invalidRequest(`The parameter "${alias}" is not supported. Use "${own}" instead.`, alias);
}
