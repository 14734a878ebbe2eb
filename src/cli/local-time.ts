/** Formats an instant as local time with its offset from UTC, such as `2026-11-20 20:00:00 +08:00`. Returns other texts unchanged. */
export function localTime(instant: string): string {
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return instant;
  const offsetMinutes = -at.getTimezoneOffset();
  const shifted = new Date(at.getTime() + offsetMinutes * 60_000).toISOString();
  const sign = offsetMinutes < 0 ? '-' : '+';
  const [hours, minutes] = [Math.floor(Math.abs(offsetMinutes) / 60), Math.abs(offsetMinutes) % 60];
  return `${shifted.slice(0, 10)} ${shifted.slice(11, 19)} ${sign}${twoDigits(hours)}:${twoDigits(minutes)}`;
}

const twoDigits = (count: number): string => String(count).padStart(2, '0');
