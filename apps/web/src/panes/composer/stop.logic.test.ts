import { expect, test } from 'vitest'
import { stopStep } from './stop.logic.ts'

const base = { asked: null, busy: true, reason: null, exit: null, phase: 'running' } as const
const exit = { turnId: 't', code: null, signal: 'SIGKILL', leftRunning: 0 }

test.each([
  ['a turn at work can be stopped', base, { kind: 'can-stop' }],
  ['asked, it has time to heed', { ...base, asked: { killed: false } }, { kind: 'asked' }],
  ['ended by force', { ...base, asked: { killed: true } }, { kind: 'ending' }],
  [
    'the turn is over, its processes not yet',
    { ...base, busy: false, asked: { killed: false }, reason: 'interrupted', phase: 'ending' },
    { kind: 'ending' },
  ],
  [
    'all gone',
    { ...base, busy: false, asked: { killed: false }, reason: 'interrupted', phase: 'idle', exit },
    { kind: 'stopped', left: 0 },
  ],
  [
    'an agent that stays has nothing to count',
    { ...base, busy: false, asked: { killed: false }, reason: 'interrupted', phase: 'idle' },
    { kind: 'stopped', left: null },
  ],
  ['nobody stopped it', { ...base, busy: false, phase: 'idle', reason: 'completed', exit }, { kind: 'none' }],
] as const)('%s', (_name, facts, step) => expect(stopStep(facts)).toEqual(step))
