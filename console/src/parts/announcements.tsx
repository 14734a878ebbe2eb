import { Alert } from '@mantine/core';
import { useState } from 'react';
import type { ShownAnnouncement } from '../api/types.ts';
import { useLanguage, useTexts } from '../text/language.tsx';
import { commonTexts } from './texts.ts';

const STORED_AS = 'faregate.announcements';
/** More are never shown at a time. */
const CLOSED_MAX = 20;
const COLORS = { info: 'blue', warning: 'yellow' } as const;

/** Announcements of the operator as banners. A closed one stays closed in this browser. */
export function Announcements({ announcements }: { readonly announcements: readonly ShownAnnouncement[] }) {
  const { language } = useLanguage();
  const text = useTexts(commonTexts);
  const [closed, setClosed] = useState(() => (localStorage.getItem(STORED_AS) ?? '').split(' '));
  const open = announcements.filter(({ id }) => !closed.includes(id));

  function close(id: string): void {
    const next = [...closed, id].slice(-CLOSED_MAX);
    localStorage.setItem(STORED_AS, next.join(' '));
    setClosed(next);
  }

  return open.map(({ id, level, textEn, textZh }) => (
    <Alert
      className="no-print"
      mb="xs"
      key={id}
      role={level === 'warning' ? 'alert' : 'status'}
      color={COLORS[level]}
      withCloseButton
      closeButtonLabel={text.close}
      onClose={() => close(id)}
      style={{ overflowWrap: 'anywhere' }}
    >
      {language === 'zh' ? (textZh ?? textEn) : (textEn ?? textZh)}
    </Alert>
  ));
}
