/**
 * For `at time zone`. PostgreSQL reads offsets with the opposite sign, and a name such as CET as an abbreviation without daylight saving
 * time.
 */
export function sqlTimezone(timezone: string): string {
  // A database server might not know all aliases of a zone, so the operator's spelling is kept.
  if (timezone.includes('/')) return timezone;
  const { timeZone: name } = new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions();
  const [sign, offset] = [name[0], name.slice(1)];
  if (sign === '+') return `-${offset}`;
  return sign === '-' ? `+${offset}` : name;
}
