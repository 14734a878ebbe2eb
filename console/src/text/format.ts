import { LOCALES, useLanguage } from './language.tsx';
import { useTimezone } from './timezone.tsx';
import { type Format, formatOf } from './written.ts';

/** The shared format of a language and a zone. Creating formatters takes longer than rendering a table with them. */
export function useFormat(): Format {
  const { language } = useLanguage();
  const { zone } = useTimezone();
  const name = `${language} ${zone}`;
  let format = formats.get(name);
  if (format === undefined) {
    format = formatOf(LOCALES[language], zone);
    formats.set(name, format);
  }
  return format;
}

const formats = new Map<string, Format>();
