import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';

export const LANGUAGES = { en: 'English', zh: '简体中文' } as const;
export type Language = keyof typeof LANGUAGES;

export const LOCALES: Readonly<Record<Language, string>> = { en: 'en-GB', zh: 'zh-CN' };

const STORED_AS = 'faregate.language';

interface LanguageChoice {
  readonly language: Language;
  choose(language: Language): void;
}

const Context = createContext<LanguageChoice>({ language: 'en', choose: () => undefined });

/** Provides the chosen language; by default the browser's. */
export function LanguageProvider({ children }: { readonly children: ReactNode }) {
  const [language, setLanguage] = useState(initialLanguage);
  useEffect(() => {
    document.documentElement.lang = LOCALES[language];
  }, [language]);
  const choice = useMemo(
    () => ({
      language,
      choose(next: Language) {
        localStorage.setItem(STORED_AS, next);
        setLanguage(next);
      },
    }),
    [language],
  );
  return <Context value={choice}>{children}</Context>;
}

export function useLanguage(): LanguageChoice {
  return useContext(Context);
}

function initialLanguage(): Language {
  const stored = localStorage.getItem(STORED_AS);
  if (stored !== null && Object.hasOwn(LANGUAGES, stored)) return stored as Language;
  return navigator.languages
    .find((tag) => /^(?:en|zh)\b/i.test(tag))
    ?.slice(0, 2)
    .toLowerCase() === 'zh'
    ? 'zh'
    : 'en';
}

export interface Texts<Text> {
  readonly en: Text;
  readonly zh: Text;
}

/** A translation, with the same members. */
export type Words<Text> = {
  readonly [Name in keyof Text]: Text[Name] extends string
    ? string
    : Text[Name] extends (...given: infer Given) => string
      ? (...given: Given) => string
      : Words<Text[Name]>;
};

/** Declares texts. A missing translation does not compile. */
export function defineTexts<const Text extends object>(en: Text, zh: Words<Text>): Texts<Words<Text>> {
  return { en: en as Words<Text>, zh };
}

export function useTexts<Text>(texts: Texts<Text>): Text {
  return texts[useLanguage().language];
}
