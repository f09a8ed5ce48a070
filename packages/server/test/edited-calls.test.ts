import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { PermissionDecision, PermissionRequestEvent, ToolKind } from '@chirality/core'
import { exportSession } from '@chirality/sessions'
import { expect, test } from 'vitest'
import { createWorld, serveWorld } from './support/agents.ts'
import { connect } from './support/trpc-client.ts'
import { SessionWatch } from './support/watch-session.ts'

const ASKED = 'what the agent had written'
const RAN = 'what a person put in its place'

/** Which tools of each agent write a file and run a command, by the names of their inputs. */
const AGENTS = [
  ['claude-code', { write: 'Write', file: 'file_path', run: 'Bash' }],
  ['messages-api', { write: 'write', file: 'file_path', run: 'bash' }],
] as const

test.each(AGENTS)(
  '%s: an edited file, a denied command and one that a rule denied read as such everywhere',
  async (harness, names) => {
    const world = await createWorld({
      answers: [
        { tool: names.write, input: { [names.file]: 'asked.txt', content: `${ASKED}\n` } },
        { tool: names.run, input: { command: 'touch denied.txt' } },
        { tool: names.run, input: { command: 'touch ruled.txt' } },
        'Done.',
      ],
    })
    const inProject = (name: string) => path.join(world.project, name)
    execFileSync('git', ['init', '-q'], { cwd: world.project })
    const data = path.join(world.home, 'chirality')
    mkdirSync(path.join(data, 'policies'), { recursive: true, mode: 0o700 })
    writeFileSync(path.join(data, 'policies', 'global.policy'), `deny ${names.run}(touch ruled.txt)\n`, {
      mode: 0o600,
    })
    const server = await serveWorld(world)
    const { client } = connect(server)
    const { id: sessionId } = await client.sessions.create.mutate({
      ...{ project: world.project, mode: 'direct', harness, permissionMode: 'default' },
    })
    const watch = new SessionWatch(client, sessionId)
    const answer = async (
      kind: ToolKind,
      decide: (request: PermissionRequestEvent) => PermissionDecision,
    ) => {
      const request = await watch.until('permission:request', event => event.facts?.kind === kind)
      const decision = decide(request)
      await client.decisions.answer.mutate({ sessionId, requestId: request.requestId, decision })
    }
    const { turnId } = await client.turns.start.mutate({ sessionId, message: 'Go' })
    await answer('edit', ({ input }) => ({
      behavior: 'allow',
      updatedInput: { ...input, [names.file]: inProject('ran.txt'), content: `${RAN}\n` },
    }))
    await answer('execute', () => ({ behavior: 'deny', message: 'Not now.' }))
    await watch.until('turn:end')
    await expect.poll(async () => (await client.system.health.query()).runningTurns).toBe(0)
    expect(readFileSync(inProject('ran.txt'), 'utf8')).toBe(`${RAN}\n`)
    expect(['asked.txt', 'denied.txt', 'ruled.txt'].filter(name => existsSync(inProject(name)))).toEqual([])

    const exported = async (format: 'markdown' | 'html' | 'json') => {
      const parts: string[] = []
      for await (const part of exportSession(world.project, sessionId, { format })) parts.push(String(part))
      return parts.join('')
    }
    // What is written down: the log, and each form of it that is sent to others.
    const [written] = watch.envelopes.flatMap(({ event }) =>
      event.type === 'permission:resolved' && event.updatedInput ? [event] : [],
    )
    expect(written).toMatchObject({
      outcome: 'allowed',
      by: 'person',
      facts: { object: inProject('ran.txt') },
    })
    const markdown = await exported('markdown')
    expect(markdown).toMatch(/\*\*Wrote\*\* `[^`]*ran\.txt` .*edited by you · asked for .*asked\.txt/)
    expect(markdown).toContain(`\`\`\`diff\n+${RAN}\n`)
    expect(markdown).toContain('**Denied** `touch denied.txt` · by you: “Not now.”')
    expect(markdown).toMatch(/\*\*Denied\*\* `touch ruled\.txt` · by a rule: .*touch ruled\.txt\)/)
    expect(markdown).not.toMatch(/\*\*Ran\*\*/)
    for (const format of ['html', 'json'] as const) expect(await exported(format)).toContain(RAN)

    // What is asked for afterwards: changes, blame and search.
    const { files } = await client.files.turnDiff.query({ sessionId, turnId })
    expect(files).toMatchObject([{ path: 'ran.txt', kind: 'added', added: 1 }])
    const blame = await client.files.blame.query({ project: world.project, path: 'ran.txt' })
    expect(blame?.lines).toMatchObject([{ origin: { kind: 'turns', turns: [`${sessionId}/${turnId}`] } }])
    const { hits } = await client.sessions.search.query({ query: `"${RAN}"` })
    expect(hits.map(hit => hit.sessionId)).toContain(sessionId)
  },
)
