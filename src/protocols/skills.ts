import type { Reads } from './content-demand.ts';
import type { OwnReading, RequestReader } from './request-reader.ts';
import { openMembers, state } from './request-rules.ts';

const SKILL = openMembers({ type: 'setting', skill_id: state('skill'), version: 'setting' });
const TYPE_BYTES_MAX = 64;
/** Type of skills that the vendor predefines. All other skills belong to an account. */
const VENDOR_SKILL = 'anthropic';

function read(reader: RequestReader, reads: Reads): void {
  const { json } = reader;
  let type: string | null = null;
  let idStart = -1;
  reader.members(SKILL, reads, (name) => {
    if (name === 'type') type = json.text(TYPE_BYTES_MAX);
    if (name !== 'skill_id') return;
    idStart = json.offset;
    json.skip();
  });
  if (idStart === -1 || type === VENDOR_SKILL) return;
  reader.references.readId(json.from(idStart), 'skill', reader.param('skill_id'));
}

export const skill: OwnReading = { members: SKILL, read };
