import { useEffect, useState } from 'react';
import { useLanguage } from '../text/language.tsx';

/** The translation of messages, loaded when a message is first shown in Chinese. */
let inChinese: ((message: string) => string) | null = null;

/** A message of the gateway in the current language. It stays in English if there is no translation, or the translations do not load. */
export function useGatewayMessage(message: string): string {
  const { language } = useLanguage();
  const [, setHasLoaded] = useState(inChinese !== null);
  const isTranslated = language === 'zh' && message !== '';
  useEffect(() => {
    if (!isTranslated || inChinese !== null) return;
    import('./in-chinese.ts').then(
      (loaded) => {
        inChinese = loaded.inChinese;
        setHasLoaded(true);
      },
      () => undefined,
    );
  }, [isTranslated]);
  return isTranslated && inChinese !== null ? inChinese(message) : message;
}

export function GatewayMessage({ children }: { readonly children: string }) {
  return useGatewayMessage(children);
}
