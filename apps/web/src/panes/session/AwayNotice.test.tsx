// @vitest-environment happy-dom
import { expect, test, vi } from 'vitest'
import { CannedServer } from '../../../test/support/canned-client.tsx'
import { buttonNamed, click, render } from '../../../test/support/render.tsx'
import type { Machine } from '../../state/server/answers.ts'
import AwayNotice from './AwayNotice.tsx'

/** On a machine that has much else to do. */
const PATIENT = { timeout: 60_000 }

function machine(name: string, state: Machine['state'], installed: boolean): Machine {
  const agent = { id: 'claude-code', name: 'Claude Code', installed, loggedIn: true, version: null }
  return {
    ...{ machine: name, state, isThis: false, role: 'worker', version: '', labels: [], slots: 1, busy: 0 },
    ...{
      load: 0,
      agents: [agent],
      projects: [],
      repositories: [],
      heardSecondsAgo: null,
      hasKey: null,
      key: null,
    },
    copies: true,
  }
}

function notice(state: 'away' | 'unknown') {
  const asked: string[] = []
  const server = {
    'fleet.machines': () => [
      machine('build-1', 'away', true),
      machine('build-2', 'here', true),
      machine('build-3', 'here', false),
      machine('build-4', 'away', true),
    ],
    'fleet.takeover': ({ sessionId, to }: { sessionId: string; to: string }) => {
      asked.push(`${sessionId} on ${to}`)
      return { session: sessionId, from: 'build-1', to, asked: true, problem: null }
    },
  }
  const page = render(
    <CannedServer answers={server}>
      <AwayNotice sessionId="s" harness="claude-code" machine={{ name: 'build-1', state }} />
    </CannedServer>,
  )
  return { page, asked }
}

test('a session whose machine is away continues on one that is there and has its agent, after a second question', async () => {
  const { page, asked } = notice('away')
  click(buttonNamed(page, 'Go on elsewhere…'))
  await vi.waitFor(() => expect(page.textContent).toContain('it is refused'), PATIENT)
  const names = [...page.querySelectorAll('button')].map(button => button.textContent)
  expect(names).toEqual(['Continue on build-2', 'Cancel'])
  click(buttonNamed(page, 'Continue on build-2'))
  await vi.waitFor(() => expect(asked).toEqual(['s on build-2']), PATIENT)
})

test('a machine of which nothing is known yet is not taken over', () => {
  const { page } = notice('unknown')
  expect(page.querySelectorAll('button')).toHaveLength(0)
})
