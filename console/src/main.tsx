import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './main.css';
import { createTheme, MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiError } from './api/client.ts';
import { App } from './app.tsx';
import { SESSION_KEY } from './session/session.tsx';
import { LanguageProvider } from './text/language.tsx';

const theme = createTheme({
  primaryColor: 'cyan',
  primaryShade: { light: 8, dark: 7 },
  defaultRadius: 'md',
  respectReducedMotion: true,
  fontFamily:
    'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "PingFang SC", "Microsoft YaHei", "Noto Sans SC", sans-serif',
});

// The policy of the page lets in the styles that have this nonce, and no others.
const styleNonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')!.content;
Object.assign(window, { __webpack_nonce__: styleNonce });

/** A session that has ended leads to the sign-in, wherever that shows. */
function noteSessionEnd(error: Error): void {
  if (error instanceof ApiError && error.status === 401) void queries.invalidateQueries({ queryKey: SESSION_KEY });
}

const queries = new QueryClient({
  queryCache: new QueryCache({ onError: noteSessionEnd }),
  mutationCache: new MutationCache({ onError: noteSessionEnd }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // What the gateway refuses it would refuse again.
      retry: (failures, error) =>
        failures < 2 && (!(error instanceof ApiError) || error.status === 0 || error.status >= 500),
    },
  },
});

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => styleNonce}>
      <LanguageProvider>
        <QueryClientProvider client={queries}>
          <Notifications position="top-right" />
          <App />
        </QueryClientProvider>
      </LanguageProvider>
    </MantineProvider>
  </StrictMode>,
);
