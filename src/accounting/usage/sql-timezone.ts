/**
 * Returns a time zone for `at time zone`. PostgreSQL reads offsets with the opposite sign, and a name such as CET as an abbreviation
 * without daylight saving time.
 */
export function sqlTimezone(timezone: string): string {
  // Keeps the operator's spelling, because the database server may not know all aliases of a zone.
  if (timezone.includes('/')) return timezone;
  const { timeZone: name } = new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions();
  const [sign, offset] = [name[0], name.slice(1)];
  if (sign === '+') return `-${offset}`;
  return sign === '-' ? `+${offset}` : name;
}
