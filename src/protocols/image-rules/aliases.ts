import { invalidRequest } from '../../errors/gateway-error.ts';
import { foldedName } from '../../lib/folded-name.ts';

/**
 * The other names under which relays and vendors accept what decides the price of images. The gateway prices `size`,
 * `quality` and `n`; images asked for by another name would be made and not charged. A ratio of the edges alone changes
 * no price.
 */
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

/** What the gateway reads, at the top of a JSON body and nowhere else: see `sequence.ts` for those of Ark. */
const OWN = [...Object.keys(aliases), 'sequential_image_generation', 'sequential_image_generation_options'];
/** Of these a form has no spelling that a vendor documents. */
const SEQUENCE = OWN.slice(Object.keys(aliases).length);

/** Members that some servers take apart, as if their members stood beside them. */
const CONTAINERS = ['extra_body', 'parameters', 'image_config', 'image_generation_config', 'generation_config'];

const byAlias = new Map(Object.entries(aliases).flatMap(([own, names]) => names.map((name) => [name, own] as const)));

/** The members of an object. */
export interface ImageMembers {
  /** Whether a member is there, and neither null nor false. */
  has(name: string): boolean;
  /** The members of an object that stands there; `null` if none does. */
  inside(name: string): ImageMembers | null;
}

/**
 * @throws GatewayError `invalidRequest` if a member states the number, size or quality of images by another name.
 */
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

/** The same for a part of a form, which has no members: what a container says there is not looked at. */
export function refuseAliasPart(name: string): void {
  const [first = ''] = name.trim().split(/[[.]/, 1);
  const folded = foldedName(first);
  const own = byFoldedAlias.get(folded);
  if (own !== undefined) throw misnamed(first, own);
  if (foldedContainers.has(folded)) {
    throw invalidRequest(`The parameter "${first}" is not taken here; send what is in it by itself.`, first);
  }
}

function misnamed(alias: string, own: string): Error {
  return invalidRequest(`The parameter "${alias}" is not taken here; use "${own}".`, alias);
}
