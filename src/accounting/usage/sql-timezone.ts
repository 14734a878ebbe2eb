/**
 * Converts a time zone of the configuration for use in `at time zone`. PostgreSQL reads offsets with the opposite sign, as POSIX does. It
 * reads a name such as CET as an abbreviation, which has no daylight saving time.
 */
export function sqlTimezone(timezone: string): string {
  // The operator's spelling is kept, because a database server might not know all aliases of a zone.
  if (timezone.includes('/')) return timezone;
  const { timeZone: name } = new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions();
  const [sign, offset] = [name[0], name.slice(1)];
  if (sign === '+') return `-${offset}`;
  return sign === '-' ? `+${offset}` : name;
}
