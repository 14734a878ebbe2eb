import { PasswordInput } from '@mantine/core';

/** The password that somebody has. */
export const CurrentPassword = PasswordInput.withProps({ required: true, autoComplete: 'current-password' });

/** A password that somebody chooses, as the gateway takes it. */
export const NewPassword = PasswordInput.withProps({
  required: true,
  minLength: 12,
  maxLength: 200,
  autoComplete: 'new-password',
});
