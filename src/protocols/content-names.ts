import { MemberNames } from '../lib/json/member-names.ts';

const PARTS = [
  ...(['type', 'source', 'file_id', 'file_url', 'image_url', 'video_url', 'audio_url', 'input_audio', 'file'] as const),
  ...(['image', 'video', 'detail', 'url', 'input', 'arguments', '*tools', 'cache_control'] as const),
  ...(['prompt_cache_breakpoint', 'id', 'definition'] as const),
] as const;
export type Part = (typeof PARTS)[number] | null;

export const PART_NAMES = new MemberNames(...PARTS);

export function partOf(name: string): Part {
  const bytes = Buffer.from(name);
  return PARTS[PART_NAMES.find(bytes, 0, bytes.length)] ?? null;
}
