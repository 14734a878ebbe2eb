/**
 * SQL text: a time zone of the configuration, for `at time zone`. The database reads an offset as POSIX does, with the other sign,
 * and takes a name such as CET for an abbreviation, which has no summer time.
 */
export function sqlTimezone(timezone: string): string {
  // Where zones have several names, a server may know only some of them: what the operator wrote is the likeliest.
  if (timezone.includes('/')) return timezone;
  const { timeZone: name } = new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions();
  const [sign, offset] = [name[0], name.slice(1)];
  if (sign === '+') return `-${offset}`;
  return sign === '-' ? `+${offset}` : name;
}
