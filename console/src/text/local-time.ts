/** Instants as fields for date and time have them: `2026-11-23T08:00`, of a time zone. */

/** Empty if it is no instant. */
export function toLocalTime(instant: string | number, zone: string): string {
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return '';
  const text = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short', timeZone: zone }).format(at);
  return text.replace(' ', 'T');
}

/** The instant that somebody entered; empty if there is none. Of a time that a zone has twice it is one of both. */
export function fromLocalTime(local: string, zone: string): string {
  const asIfUtc = Date.parse(`${local}Z`);
  if (Number.isNaN(asIfUtc)) return '';
  let ms = asIfUtc;
  // The offset of the zone is that of the instant, which the first round has but for some hours.
  for (let round = 0; round < 2; round++) ms = asIfUtc - (Date.parse(`${toLocalTime(ms, zone)}Z`) - ms);
  return new Date(ms).toISOString();
}
