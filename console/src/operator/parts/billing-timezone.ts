import { useRead } from '../../api/queries.ts';

/** The time zone of days and months of sums; `undefined` until the configuration was read. */
export function useBillingTimezone(): string | undefined {
  const { data } = useRead('GET /admin/v1/config', {});
  const { billing } = (data?.config ?? {}) as { readonly billing?: { readonly timezone?: string } };
  return billing?.timezone;
}
