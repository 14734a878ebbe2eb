import { PasswordInput } from '@mantine/core';

export const CurrentPassword = PasswordInput.withProps({ required: true, autoComplete: 'current-password' });

/** Applies the gateway's length limits. */
export const NewPassword = PasswordInput.withProps({
  required: true,
  minLength: 12,
  maxLength: 200,
  autoComplete: 'new-password',
});
