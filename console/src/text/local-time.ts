/** Values of `datetime-local` fields in a time zone, such as `2026-11-23T08:00`. */

/** Empty if the instant is invalid. */
export function toLocalTime(instant: string | number, zone: string): string {
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return '';
  const text = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short', timeZone: zone }).format(at);
  return text.replace(' ', 'T');
}

/** Empty if the value is invalid. A local time that occurs twice gives either instant. */
export function fromLocalTime(local: string, zone: string): string {
  const asIfUtc = Date.parse(`${local}Z`);
  if (Number.isNaN(asIfUtc)) return '';
  let ms = asIfUtc;
  // The first round may use the offset of another time of the day; the second corrects it.
  for (let round = 0; round < 2; round++) ms = asIfUtc - (Date.parse(`${toLocalTime(ms, zone)}Z`) - ms);
  return new Date(ms).toISOString();
}
