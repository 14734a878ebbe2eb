import { useRead } from '../../api/queries.ts';

/** The time zone of days and months of sums; `undefined` until the configuration was read. @throws where it cannot be read; the page says so. */
export function useBillingTimezone(): string | undefined {
  const { data, error } = useRead('GET /admin/v1/config', {});
  if (data === undefined && error !== null) throw error;
  const { billing } = (data?.config ?? {}) as { readonly billing?: { readonly timezone?: string } };
  return billing?.timezone;
}
