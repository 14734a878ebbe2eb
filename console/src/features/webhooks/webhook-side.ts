import { createContext, useContext } from 'react';
import { useMayOperate } from '../../session/may-operate.ts';

/** The API in use: of the selected account, or of operators for all endpoints. */
export type WebhookApi = '/account/v1' | '/admin/v1';

export const WebhookSide = createContext<WebhookApi>('/account/v1');

/** The API in use, and whether the user may change endpoints. Auditors may not. */
export function useWebhookSide(): { readonly api: WebhookApi; readonly mayChange: boolean } {
  const api = useContext(WebhookSide);
  const mayOperate = useMayOperate();
  return { api, mayChange: api === '/account/v1' || mayOperate };
}
