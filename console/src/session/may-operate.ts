import { useSession } from './session.tsx';

/** Whether the user may change resources of the admin API. Auditors can only read them. */
export function useMayOperate(): boolean {
  return useSession().operatorRole === 'operator';
}
