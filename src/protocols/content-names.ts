import { MemberNames } from '../lib/json/member-names.ts';

/** What a member of content says of what its request asks for (`content-demand.ts`). */
export const Part = {
  /** Content itself. */
  other: 0,
  type: 1,
  id: 2,
  detail: 3,
  /** An address, or an id, that is one of a file, or a picture if the type says so. */
  url: 4,
  addressed: 5,
  source: 6,
  image: 7,
  audio: 8,
  audioAddress: 9,
  video: 10,
  tools: 11,
  definition: 12,
  caches: 13,
  /** What a model gave to a tool. */
  input: 14,
} as const;
export type Part = (typeof Part)[keyof typeof Part];

const PARTS: Readonly<Record<string, Part>> = {
  type: Part.type,
  id: Part.id,
  detail: Part.detail,
  url: Part.url,
  file_id: Part.addressed,
  file_url: Part.addressed,
  source: Part.source,
  file: Part.source,
  image: Part.image,
  image_url: Part.image,
  input_audio: Part.audio,
  audio_url: Part.audioAddress,
  video: Part.video,
  video_url: Part.video,
  '*tools': Part.tools,
  definition: Part.definition,
  cache_control: Part.caches,
  prompt_cache_breakpoint: Part.caches,
  input: Part.input,
  arguments: Part.input,
};

export const PART_NAMES = new MemberNames(...Object.keys(PARTS));

/** What a name means in content. */
export function partOf(name: string): Part {
  const bytes = Buffer.from(name);
  const index = PART_NAMES.find(bytes, 0, bytes.length);
  return index === -1 ? Part.other : PARTS[PART_NAMES.names[index]!]!;
}
