import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { useArena } from '../cross-harness/arena.ts'
import { folded, told } from '../native-sessions/support.ts'
import { ofType } from '../support/turns.ts'
import { acpAgents, publishedAgents } from './contestants.ts'

// One conversation with each real agent. With CHIRALITY_TEST_ALL they run the suites of test/cross-harness, too.

const arena = useArena()

/** Whether a file of the agent has this text. */
function isKept(text: string): boolean {
  return readdirSync(arena.place.home, { recursive: true, withFileTypes: true }).some(
    entry => entry.isFile() && readFileSync(path.join(entry.parentPath, entry.name)).includes(text),
  )
}

/** Four starts of an agent, on a busy machine. */
const LIMIT_MS = 600_000

test.each(acpAgents().map(agent => [agent.name, agent] as const))(
  '%s: it streams, asks, obeys, is kept, and leaves nothing behind',
  async (_name, agent) => {
    const file = path.join(arena.project, 'a')
    const touch = agent.asking?.command(`touch ${file}`) ?? agent.command(`touch ${file}`)
    await arena.open(agent, {
      answers: [
        { blocks: [{ text: 'one two three' }, touch], chunkChars: 4 },
        ...(agent.denialEndsTurn ? [] : ['Denied.']),
        { blocks: [touch] },
        'Done.',
      ],
    })
    const session = arena.session()
    const seen: boolean[] = []
    const answer = (behavior: 'allow' | 'deny') => ({
      permissionMode: 'default' as const,
      decide: async () => {
        seen.push(existsSync(file))
        return { behavior }
      },
    })
    const denied = await arena.collect(session, 'Go', answer('deny'))
    expect(ofType(denied, 'session:init')).toMatchObject([
      { harness: agent.harness, claudeSessionId: expect.any(String) },
    ])
    expect(ofType(denied, 'chat:delta').length).toBeGreaterThan(1)
    expect(ofType(denied, 'permission:request')).toMatchObject([{ toolName: 'Bash' }])
    expect(JSON.stringify(ofType(denied, 'permission:request')[0]?.input)).toContain('touch')
    expect(ofType(denied, 'permission:resolved')).toMatchObject([{ outcome: 'denied' }])
    const reason = agent.denialEndsTurn ? 'interrupted' : 'completed'
    expect(ofType(denied, 'turn:end')).toMatchObject([{ reason }])
    expect(existsSync(file)).toBe(false)
    const conversation = session.claudeSessionId
    const allowed = await arena.collect(session, 'Again', answer('allow'))
    expect(seen).toEqual([false, false])
    expect(existsSync(file)).toBe(true)
    expect(ofType(allowed, 'tool:result')).toMatchObject([{ isError: false }])
    expect(ofType(allowed, 'chat:complete')).toMatchObject([{ text: 'Done.' }])
    expect(ofType(allowed, 'session:complete')[0]?.usage.input_tokens).toBeGreaterThan(0)
    expect(session.claudeSessionId).toBe(conversation)
    // For `npm run test:all`: once the adapter left the message unanswered. It is waited for 10 s, then the message is for the next turn.
    if (arena.harness.steer && process.env.CHIRALITY_TEST_ALL) {
      arena.model.continueWith({ text: 'one two three', chunkChars: 4, stallAfter: 2 }, 'And the walrus.')
      const counting = arena.collect(session, 'Count', {})
      await arena.model.waitForRequest(request => request.state === 'stalled')
      const taken = await arena.harness.steer(session.id, 'And the walrus?')
      arena.model.release()
      const steered = await counting
      expect(taken).toBe(true)
      expect(ofType(steered, 'status').map(({ data }) => data?.text)).toContain('And the walrus?')
      expect(ofType(steered, 'chat:complete')[0]?.text).toContain('And the walrus.')
      const asked = arena.model.requests.findLast(({ served }) => served.startsWith('answers['))
      expect(JSON.stringify(asked?.body)).toContain('And the walrus?')
    }
    const question = agent.asking?.question
    if (!question) return
    arena.model.continueWith({ blocks: [question('Which way?', ['Left', 'Right'])] }, 'Off we go.')
    const answered = await arena.collect(session, 'Ask me', {
      permissionMode: 'default',
      decide: async ({ input, facts, reason }) => {
        expect(reason).toBe('Which way?')
        const fields = facts?.questions ?? []
        const answers = fields.map(({ name, options }) => [name, (options[1] ?? options[0])?.label ?? ''])
        return { behavior: 'allow', updatedInput: { ...input, answers: Object.fromEntries(answers) } }
      },
    })
    expect(ofType(answered, 'permission:request')).toMatchObject([
      { kind: 'question', toolName: 'elicitation' },
    ])
    expect(ofType(answered, 'tool:result')).toMatchObject([{ content: expect.stringContaining('Right') }])
    expect(ofType(answered, 'chat:complete')).toMatchObject([{ text: 'Off we go.' }])
  },
)

test.each([...acpAgents(), ...publishedAgents()].map(agent => [agent.name, agent] as const))(
  '%s: a conversation that it keeps is listed, becomes a session with all that was said, and goes on',
  async (_name, agent) => {
    const { harness: id } = agent
    await arena.open(agent, {
      answers: [
        { blocks: [{ text: 'I look.' }, agent.command('echo from-the-command')] },
        'That was it.',
        'A second answer.',
        'And on.',
      ],
    })
    const session = arena.session()
    await arena.collect(session, 'Look around', agent.free)
    await arena.collect(session, 'And now?', agent.free)
    const nativeSessionId = session.claudeSessionId ?? ''
    // An agent may write its files after the answer (Qwen Code does), and one that is ended before writes nothing more.
    await expect.poll(() => isKept('A second answer.'), { timeout: LIMIT_MS }).toBe(true)
    await arena.harness.close()
    await arena.reopen(agent)
    const { listNativeSessions, importSession } = arena.harness
    const kept = await listNativeSessions?.({ cwd: arena.project })
    expect(kept).toMatchObject([
      { harness: id, nativeSessionId, cwd: arena.project, title: expect.any(String) },
    ])
    const imported = await importSession?.(nativeSessionId, arena.project)
    if (!imported) throw new Error('it imports nothing')
    const items = told(folded(imported))
    expect(items).toEqual([
      '> Look around',
      'text: I look.',
      expect.stringMatching(/^Bash done: .*from-the-command/s),
      'text: That was it.',
      '> And now?',
      'text: A second answer.',
    ])
    const events = await arena.collect(imported.session, 'Go on', agent.free)
    expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'And on.' }])
    expect(ofType(events, 'session:init')).toMatchObject([{ claudeSessionId: nativeSessionId }])
    const asked = arena.model.requests.findLast(({ served }) => served.startsWith('answers['))
    expect(JSON.stringify(asked?.body)).toContain('A second answer.')
  },
  LIMIT_MS,
)
