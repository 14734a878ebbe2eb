import { createContext, useContext } from 'react';
import { useMayOperate } from '../../session/may-operate.ts';

/** Whose endpoints are shown: those of the account that is looked at; or all, as operators see them, with their own. */
export type WebhookApi = '/account/v1' | '/admin/v1';

export const WebhookSide = createContext<WebhookApi>('/account/v1');

/** The API of the endpoints that a page shows, and whether the person may change them: auditors may not. */
export function useWebhookSide(): { readonly api: WebhookApi; readonly mayChange: boolean } {
  const api = useContext(WebhookSide);
  const mayOperate = useMayOperate();
  return { api, mayChange: api === '/account/v1' || mayOperate };
}
