import { Page } from '../../parts/page.tsx';

export function AccountSettingsPage() {
  return <Page title="…">{null}</Page>;
}
