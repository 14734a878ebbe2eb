import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useAccountChoice } from '../api/account-choice.ts';
import { FORGOT_PATH } from '../features/entrance/forgot-path.ts';
import { mayOpen } from '../layout/page-for.ts';
import { PageFrame } from '../layout/page-frame.tsx';
import type { PaletteDialogProps } from '../layout/palette-button.tsx';
import { Shell } from '../layout/shell.tsx';
import { loadedLater } from '../parts/loaded-later.tsx';
import { goTo, usePlace } from '../parts/location.ts';
import { EmptyState, Loading, ReadState } from '../parts/notices.tsx';
import { PageTitle } from '../parts/page.tsx';
import { SESSION_ENDED, SESSION_KEY, SessionProvider, useSession, useSessionRead } from '../session/session.tsx';
import { defineTexts, useLanguage, useTexts } from '../text/language.tsx';
import { findPage, PAGES } from './pages.ts';

// The first page needs neither the palette nor its commands.
const palette = loadedLater<PaletteDialogProps>(async () => (await import('./command-palette.tsx')).CommandPalette);

const texts = defineTexts(
  {
    noPage: 'There is no such page',
    noPageHint: 'The address is wrong, or the page is not for you. Choose one in the menu.',
    noAccount: 'You belong to no account',
    noAccountHint: 'Ask an operator, or an owner of the account, to add you to it.',
  },
  {
    noPage: '没有此页面',
    noPageHint: '地址有误，或您无权查看。请从菜单中选择。',
    noAccount: '您不属于任何账户',
    noAccountHint: '请联系管理员或账户所有者将您加入账户。',
  },
);

const pricing = loadedLater<object>(async () => (await import('../features/pricing/pricing-page.tsx')).PricingPage);

// Users with a session, who are most, do not need these pages.
const welcome = loadedLater<object>(async () => (await import('../features/entrance/welcome-page.tsx')).WelcomePage);
const forgot = loadedLater<object>(async () => (await import('../features/entrance/forgot-page.tsx')).ForgotPage);
const signIn = loadedLater<{ readonly hasEnded: boolean }>(
  async () => (await import('../features/entrance/sign-in-page.tsx')).SignInPage,
);

/** The price page at its own address, which needs no session; everywhere else, the console. */
export function App() {
  return window.location.pathname === '/pricing' ? <pricing.Component /> : <ConsoleApp />;
}

/** Selects the page by address and session. The code of the page loads while the session is read. */
function ConsoleApp() {
  const { path } = usePlace();
  const session = useSessionRead();
  useEffect(() => findPage(path)?.page.code.preload(), [path]);
  useFreshSession(path);
  if (path === '/welcome') return <welcome.Component />;
  if (path === FORGOT_PATH && (session.data === null || session.data === SESSION_ENDED)) return <forgot.Component />;
  if (session.data === undefined) return <ReadState read={session} />;
  if (session.data === null || session.data === SESSION_ENDED)
    return <signIn.Component hasEnded={session.data !== null} />;
  return (
    <SessionProvider whoAmI={session.data}>
      <CurrentPage />
    </SessionProvider>
  );
}

/** Reads the session again on navigation if it is older than its `staleTime`: it has the announcements. */
function useFreshSession(path: string): void {
  const queries = useQueryClient();
  // biome-ignore lint/correctness/useExhaustiveDependencies: on navigation
  useEffect(() => void queries.refetchQueries({ queryKey: SESSION_KEY, stale: true }), [path, queries]);
}

function CurrentPage() {
  const text = useTexts(texts);
  const { language } = useLanguage();
  const { path } = usePlace();
  const { operatorRole } = useSession();
  const choice = useAccountChoice();
  const isElsewhere = path === '/sign-in' || (path === '/' && choice.accountId === null && operatorRole !== null);
  useEffect(() => {
    if (isElsewhere) goTo(choice.accountId === null && operatorRole !== null ? '#/operator' : '#/', true);
  }, [isElsewhere, choice.accountId, operatorRole]);
  if (isElsewhere) return <Loading />;
  const found = findPage(path);
  const viewer = { hasAccount: choice.accountId !== null, isOwner: choice.role === 'owner', operatorRole };
  if (found === null || !mayOpen(found.page.for, viewer)) {
    const isAlone = choice.accountId === null && operatorRole === null;
    return (
      <Shell pages={PAGES} palette={palette} current={null}>
        {isAlone ? (
          <EmptyState title={text.noAccount} hint={text.noAccountHint} />
        ) : (
          <EmptyState title={text.noPage} hint={text.noPageHint} />
        )}
      </Shell>
    );
  }
  const { page, id } = found;
  return (
    <Shell pages={PAGES} palette={palette} current={page}>
      <PageFrame key={`${choice.accountId} ${path}`}>
        <PageTitle value={page.title[language]}>
          <page.code.Component id={id} />
        </PageTitle>
      </PageFrame>
    </Shell>
  );
}
