import { AGENTS } from './agents.ts';
import { APPS } from './apps.ts';
import { PROGRAMS } from './programs.ts';
import type { Client } from './wanted.ts';

export const CLIENTS: readonly Client[] = [...PROGRAMS, ...AGENTS, ...APPS];
