import { NativeSelect } from '@mantine/core';
import type { Member } from '../../api/types.ts';
import { useTexts } from '../../text/language.tsx';
import { membersTexts } from './texts.ts';

export type Role = Member['role'];

const ROLES: readonly Role[] = ['member', 'owner'];

export function RoleSelect({ value, onChange }: { readonly value: Role; readonly onChange: (role: Role) => void }) {
  const text = useTexts(membersTexts);
  return (
    <NativeSelect
      label={text.role}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value as Role)}
      data={ROLES.map((role) => ({ value: role, label: text[role] }))}
    />
  );
}
