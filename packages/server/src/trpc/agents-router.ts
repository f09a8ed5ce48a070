import { ACP_ID_PREFIX } from '@chirality/core'
import { CALLS } from '../contract/calls.ts'
import { callError } from '../errors/call-error.ts'
import { isLoopback } from '../http/check-binding.ts'
import type { CallContext } from './context.ts'
import { call, ask as query, router } from './trpc.ts'

/**
 * The user's own agents: each is a command that runs with the user's rights. Only programs of the user and browsers at
 * this machine choose what runs: a phone that was lost, or a proxy that lets too many in, adds no program.
 */
export const agentsRouter = router({
  list: query(CALLS.agents.list).query(async ({ ctx }) => ({
    ...(await ctx.agents.list()),
    refusal: await whyRefused(ctx),
  })),

  add: call(CALLS.agents.add).mutation(async ({ ctx, input }) => {
    await requireThisMachine(ctx)
    requireIdle(ctx, input.name)
    await ctx.agents.add(input)
  }),

  remove: call(CALLS.agents.remove).mutation(async ({ ctx, input: { name } }) => {
    await requireThisMachine(ctx)
    requireIdle(ctx, name)
    if (!(await ctx.agents.remove(name))) throw callError('not-found', `You have added no agent ${name}.`)
  }),

  /** Runs the command that was shown: the fingerprint is of that. */
  test: call(CALLS.agents.test).mutation(async ({ ctx, input: { name, fingerprint } }) => {
    await requireThisMachine(ctx)
    const agent = (await ctx.agents.list()).agents.find(one => one.name === name)
    if (agent === undefined) throw callError('not-found', `You have added no agent ${name}.`)
    if (agent.fingerprint !== fingerprint)
      throw callError('changed', `${name} has changed since it was shown. Look at it again.`)
    if (testing.has(name) || testing.size >= MAX_TESTS)
      throw callError('busy', 'An agent is being tried already. Wait for its answer.')
    testing.add(name)
    try {
      return await ctx.agents.test(agent)
    } finally {
      testing.delete(name)
    }
  }),
})

const testing = new Set<string>()
const MAX_TESTS = 2

async function requireThisMachine(ctx: CallContext): Promise<void> {
  const refusal = await whyRefused(ctx)
  if (refusal !== null) throw callError('unsafe', refusal)
}

async function whyRefused({ browser, browsers }: CallContext): Promise<string | null> {
  if (browser === undefined) return null
  const origin = (await browsers.list()).find(({ id }) => id === browser)?.origin ?? ''
  if (URL.canParse(origin) && isLoopback(new URL(origin).hostname.replace(/^\[|]$/g, ''))) return null
  return 'An agent is a program on the machine of the server: add it in a browser there, or with `chirality agents add`.'
}

/** An agent that is replaced or removed ends, so it must not be at work. */
function requireIdle({ host }: CallContext, name: string): void {
  const works = host
    .statuses()
    .find(({ harness, phase }) => harness === `${ACP_ID_PREFIX}${name}` && phase !== 'idle')
  if (works !== undefined)
    throw callError('busy', `A session works with ${name}: ${works.title ?? works.sessionId}. Stop it first.`)
}
