import type { RequestReader } from './request-reader.ts';
import { openMembers, state } from './request-rules.ts';

const SKILL = openMembers({ type: 'setting', skill_id: state('skill'), version: 'setting' });
const TYPE_BYTES_MAX = 64;
/** Skills of this type are the vendor's own; any other belongs to an account. */
const VENDOR_SKILL = 'anthropic';

/** Reads a skill of a container, which comes next. */
export function skill(reader: RequestReader, path: string): void {
  const { json } = reader;
  let type: string | null = null;
  let idStart = -1;
  reader.members(SKILL, path, (name) => {
    if (name === 'type') type = json.text(TYPE_BYTES_MAX);
    if (name !== 'skill_id') return;
    idStart = json.offset;
    json.skip();
  });
  if (idStart === -1 || type === VENDOR_SKILL) return;
  reader.references.readId(json.from(idStart), 'skill', `${path}.skill_id`);
}
