/**
 * A time zone of the configuration as `at time zone` takes it. PostgreSQL reads offsets as POSIX does, with the opposite sign, and a
 * name such as CET as an abbreviation, which has no summer time.
 */
export function sqlTimezone(timezone: string): string {
  // A server may lack some aliases of a zone, so the operator's spelling is kept.
  if (timezone.includes('/')) return timezone;
  const { timeZone: name } = new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions();
  const [sign, offset] = [name[0], name.slice(1)];
  if (sign === '+') return `-${offset}`;
  return sign === '-' ? `+${offset}` : name;
}
