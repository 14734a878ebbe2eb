import { NativeSelect } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import { useTexts } from '../../text/language.tsx';
import { accountTexts } from './summary-texts.ts';

interface GroupSelectProps {
  /** Empty for none. */
  readonly value: string;
  readonly onChange: (groupId: string) => void;
  /** The group that the account is in, which the catalog may no longer have. */
  readonly present: string | null;
}

export function GroupSelect({ present, ...field }: GroupSelectProps) {
  const text = useTexts(accountTexts);
  const groups = useRead('GET /admin/v1/groups', {}).data?.data ?? [];
  const configured = groups.filter(({ isConfigured }) => isConfigured);
  const ids = new Map(configured.map(({ id, name }) => [id, name === id ? id : `${name} (${id})`]));
  if (present !== null && !ids.has(present)) ids.set(present, present);
  return (
    <NativeSelect
      label={text.group}
      description={text.groupHint}
      value={field.value}
      onChange={({ currentTarget }) => field.onChange(currentTarget.value)}
      data={[{ value: '', label: text.none }, ...[...ids].map(([value, label]) => ({ value, label }))]}
    />
  );
}
