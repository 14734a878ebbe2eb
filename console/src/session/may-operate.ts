import { useSession } from './session.tsx';

/** Whether the person may change what the admin API has: operators may, auditors see it only. */
export function useMayOperate(): boolean {
  return useSession().operatorRole === 'operator';
}
