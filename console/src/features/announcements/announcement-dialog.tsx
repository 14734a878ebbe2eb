import { NativeSelect, Textarea } from '@mantine/core';
import type { ChangeName, InputOf } from '../../api/client.ts';
import type { Announcement } from '../../api/types.ts';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { InstantInput } from '../../parts/forms/instant-input.tsx';
import { textOrNull } from '../../parts/forms/number-text.ts';
import type { DialogProps } from '../../parts/forms/use-dialog.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { useTexts } from '../../text/language.tsx';
import { fromLocalTime, toLocalTime } from '../../text/local-time.ts';
import { useTimezone } from '../../text/timezone.tsx';
import { announcementTexts } from './texts.ts';

const LEVELS = ['info', 'warning'] as const;
const AUDIENCES = ['signed_in', 'everyone'] as const;
const LENGTH_MAX = 500;

/** What the form sends. Without a start, a new announcement begins now, and a changed one keeps its start. */
interface Terms {
  readonly textEn: string | null;
  readonly textZh: string | null;
  readonly level: (typeof LEVELS)[number];
  readonly audience: (typeof AUDIENCES)[number];
  readonly startsAt?: string;
  readonly endsAt: string;
}

interface AnnouncementDialogProps<Name extends ChangeName> extends DialogProps {
  readonly endpoint: Name;
  readonly title: string;
  /** `null`: a new one. */
  readonly announcement: Announcement | null;
  readonly input: (terms: Terms) => InputOf<Name>;
}

/** The form of a new announcement, or of a change. */
export function AnnouncementDialog<Name extends ChangeName>(props: AnnouncementDialogProps<Name>) {
  const { endpoint, title, announcement, input, ...dialog } = props;
  const text = useTexts(announcementTexts);
  const { zone } = useTimezone();
  const [draft, field] = useDraft(
    () => ({
      textEn: announcement?.textEn ?? '',
      textZh: announcement?.textZh ?? '',
      level: announcement?.level ?? LEVELS[0],
      audience: announcement?.audience ?? AUDIENCES[0],
      starts: announcement === null ? '' : toLocalTime(announcement.startsAt, zone),
      ends: announcement === null ? '' : toLocalTime(announcement.endsAt, zone),
    }),
    dialog.isOpen,
  );
  return (
    <ChangeDialog
      endpoint={endpoint}
      title={title}
      {...dialog}
      problem={() => (draft.textEn.trim() === '' && draft.textZh.trim() === '' ? text.noText : null)}
      input={() => {
        const startsAt = fromLocalTime(draft.starts, zone);
        return input({
          textEn: textOrNull(draft.textEn),
          textZh: textOrNull(draft.textZh),
          level: draft.level,
          audience: draft.audience,
          ...(startsAt !== '' && { startsAt }),
          endsAt: fromLocalTime(draft.ends, zone),
        });
      }}
    >
      <Textarea label={text.english} data-autofocus autosize maxLength={LENGTH_MAX} {...field('textEn')} />
      <Textarea
        label={text.chinese}
        description={text.oneIsEnough}
        autosize
        maxLength={LENGTH_MAX}
        {...field('textZh')}
      />
      <NativeSelect
        label={text.level}
        {...field('level')}
        data={LEVELS.map((value) => ({ value, label: text.levels[value] }))}
      />
      <NativeSelect
        label={text.audience}
        {...field('audience')}
        data={AUDIENCES.map((value) => ({ value, label: text.audiences[value] }))}
      />
      <InstantInput
        label={text.starts}
        {...(announcement === null && { description: text.startsHint })}
        {...field('starts')}
      />
      <InstantInput label={text.ends} required {...field('ends')} />
    </ChangeDialog>
  );
}
