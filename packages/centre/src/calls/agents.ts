import { ACP_ID_PREFIX } from '@chirality/core'
import { z } from 'zod'
import { type Caller, mutation, query } from '../call.ts'
import type { Centre } from '../centre.ts'
import { callError } from '../errors.ts'
import { agentProbe, ownAgents } from '../shapes/agents.ts'
import { nothing, ownAgent } from '../shapes/values.ts'

const byName = ownAgent.pick({ name: true })

/**
 * The user's own agents: each is a command that runs with the user's rights. Only programs of the user and browsers at
 * this machine choose what runs: a phone that was lost, or a proxy that lets too many in, adds no program.
 */
export const agentCalls = {
  list: query({
    about: 'Lists the agents that the user added, and why the caller may not change them.',
    output: ownAgents,
    run: async (centre, _, caller) => ({
      ...(await centre.agents.list()),
      refusal: await whyRefused(centre, caller),
    }),
  }),

  add: mutation({
    about: 'Adds or replaces an agent of the user.',
    input: ownAgent,
    output: nothing,
    run: async (centre, input, caller) => {
      await requireThisMachine(centre, caller)
      requireIdle(centre, input.name)
      await centre.agents.add(input)
    },
  }),

  remove: mutation({
    about: 'Removes an agent of the user.',
    input: byName,
    output: nothing,
    run: async (centre, { name }, caller) => {
      await requireThisMachine(centre, caller)
      requireIdle(centre, name)
      if (!(await centre.agents.remove(name)))
        throw callError('not-found', `You have added no agent ${name}.`)
    },
  }),

  test: mutation({
    about:
      'Runs the command of an agent as it was shown, and tells what it answers. The fingerprint is of that command.',
    input: byName.extend({ fingerprint: z.string().max(200) }),
    output: agentProbe,
    run: async (centre, { name, fingerprint }, caller) => {
      await requireThisMachine(centre, caller)
      const agent = (await centre.agents.list()).agents.find(one => one.name === name)
      if (agent === undefined) throw callError('not-found', `You have added no agent ${name}.`)
      if (agent.fingerprint !== fingerprint)
        throw callError('changed', `${name} has changed since it was shown. Look at it again.`)
      if (testing.has(name) || testing.size >= MAX_TESTS)
        throw callError('busy', 'An agent is being tried already. Wait for its answer.')
      testing.add(name)
      try {
        return await centre.agents.test(agent)
      } finally {
        testing.delete(name)
      }
    },
  }),
}

const testing = new Set<string>()
const MAX_TESTS = 2

async function requireThisMachine(centre: Centre, caller: Caller): Promise<void> {
  const refusal = await whyRefused(centre, caller)
  if (refusal !== null) throw callError('unsafe', refusal)
}

async function whyRefused({ entrance }: Centre, { browser }: Caller): Promise<string | null> {
  if (browser === undefined || (await entrance.isThisMachine(browser))) return null
  return 'An agent is a program on the machine of the server: add it in a browser there, or with `chirality agents add`.'
}

/** An agent that is replaced or removed ends, so it must not be at work. */
function requireIdle({ host }: Centre, name: string): void {
  const works = host
    .statuses()
    .find(({ harness, phase }) => harness === `${ACP_ID_PREFIX}${name}` && phase !== 'idle')
  if (works !== undefined)
    throw callError('busy', `A session works with ${name}: ${works.title ?? works.sessionId}. Stop it first.`)
}
