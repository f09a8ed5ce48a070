import { readFileSync, renameSync, rmSync } from 'node:fs'
import type { SessionMode } from '@chirality/core'
import { SESSION_MODES } from '@chirality/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_PROMPT_TOKENS, type PersonaConfig, PersonaError, PersonaManager } from '../src/index.ts'
import { useProject } from './support/project.ts'

const project = useProject()
const DECOMP = '---\ntools: [Read, Grep]\n---\n# AGENT_DECOMP\n\nYou are the decomposition agent.\n'

describe('spec 000, phase 2', () => {
  test('load a persona, build its prompt: all three files, within the budget', async () => {
    project.write({
      'README.md': 'The readme of a tool for knots.\n',
      'AGENTS.md': 'Tabs are forbidden here.\n',
      'agents/AGENT_DECOMP.md': DECOMP,
    })
    const personas = new PersonaManager()
    const persona = await personas.load(project.root, 'DECOMP')
    expect(persona).toEqual({
      id: 'DECOMP',
      sourceFile: 'agents/AGENT_DECOMP.md',
      allowedTools: ['Read', 'Grep'],
    })
    const prompt = await personas.buildSystemPrompt(project.root, persona, 'workbench')
    expect(
      inOrder(prompt, 'Chirality', 'a tool for knots', 'Tabs are forbidden', DECOMP, 'workbench mode'),
    ).toBe(true)
    expect(prompt.length / 4).toBeLessThanOrEqual(MAX_PROMPT_TOKENS)
  })

  test('modify README.md: the new content appears', async () => {
    const personas = new PersonaManager()
    for (const content of ['first version', 'other version', 'third-version']) {
      project.write({ 'README.md': content })
      expect(await personas.buildSystemPrompt(project.root, null, 'direct')).toContain(content)
    }
    project.age('README.md')
    expect(await personas.buildSystemPrompt(project.root, null, 'direct')).toContain('third-version')
    project.write({ 'README.md': 'forth-version' })
    expect(await personas.buildSystemPrompt(project.root, null, 'direct')).toContain('forth-version')
    rmSync(project.path('README.md'))
    expect(await personas.buildSystemPrompt(project.root, null, 'direct')).not.toContain('version')
  })

  test('no persona: no persona instructions', async () => {
    project.write({ 'README.md': 'readme', 'agents/AGENT_DECOMP.md': DECOMP })
    const prompt = await new PersonaManager().buildSystemPrompt(project.root, null, 'direct')
    expect(prompt).toContain('readme')
    expect(prompt).not.toMatch(/# Persona|decomposition/)
  })
})

describe('load', () => {
  test('no folder, no file, or a name in another case: null', async () => {
    const personas = new PersonaManager()
    expect(await personas.load(project.root, 'DECOMP')).toBeNull()
    project.write({ 'agents/AGENT_DECOMP.md': DECOMP })
    expect(await personas.load(project.root, 'OTHER')).toBeNull()
    expect(await personas.load(project.root, 'decomp')).toBeNull()
    expect(await personas.load(project.root, 'DECOMP')).not.toBeNull()
  })

  test('sees an edit, a rename and a removal', async () => {
    const personas = new PersonaManager()
    project.write({ 'agents/AGENT_A.md': '---\nmax_turns: 3\n---\nx' })
    expect((await personas.load(project.root, 'A'))?.maxTurns).toBe(3)
    project.write({ 'agents/AGENT_A.md': '---\nmax_turns: 4\n---\nx' })
    expect((await personas.load(project.root, 'A'))?.maxTurns).toBe(4)
    renameSync(project.path('agents/AGENT_A.md'), project.path('agents/AGENT_B.md'))
    expect(await personas.load(project.root, 'A')).toBeNull()
    expect(await personas.load(project.root, 'B')).toMatchObject({ id: 'B', maxTurns: 4 })
  })

  test('what it returns is the caller’s to change', async () => {
    project.write({ 'agents/AGENT_DECOMP.md': DECOMP })
    project.age('agents/AGENT_DECOMP.md')
    const personas = new PersonaManager()
    ;(await personas.load(project.root, 'DECOMP'))?.allowedTools?.push('Bash')
    for (const persona of await personas.list(project.root)) persona.allowedTools?.push('Write')
    expect((await personas.load(project.root, 'DECOMP'))?.allowedTools).toEqual(['Read', 'Grep'])
  })

  test('a broken one throws with its file, its line and what to do', async () => {
    project.write({ 'agents/AGENT_A.md': '---\ntools: [Read]\nmaxTurns: 3\nbudget_usd: x\n---\nx' })
    const error = await new PersonaManager().load(project.root, 'A').catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(PersonaError)
    expect(error).toMatchObject({ code: 'persona-invalid-file', file: 'agents/AGENT_A.md', line: 3 })
    expect(String(error)).toBe(
      'PersonaError: agents/AGENT_A.md:3: "maxTurns" is not a key of a persona. Did you mean "max_turns"? (1 more)',
    )
    expect((error as PersonaError).problems.map(problem => problem.line)).toEqual([3, 4])
  })

  test.each([
    '../AGENT_X',
    'a/b',
    '..',
    '',
    'x'.repeat(65),
    'a\0b',
    'a b',
    '%2e%2e',
    'ñ',
    '../../../../etc/passwd',
    'a.b',
  ])('an id that is not one is refused: %j', async id => {
    project.write({ 'AGENT_X.md': 'outside the folder' })
    await expect(new PersonaManager().load(project.root, id)).rejects.toMatchObject({
      code: 'persona-invalid-id',
    })
  })
})

describe('list', () => {
  test('by id, and nothing that is not a persona', async () => {
    project.write({
      'agents/AGENT_PROJECT_DECOMP.md': DECOMP,
      'agents/AGENT_ORCHESTRATOR.md': 'x',
      'agents/README.md': 'x',
      'agents/AGENT_X.txt': 'x',
      'agents/MY_AGENT_X.md': 'x',
      'agents/AGENTX.md': 'x',
      'agents/sub/AGENT_DEEP.md': 'x',
    })
    expect(await new PersonaManager().list(project.root)).toEqual([
      { id: 'ORCHESTRATOR', sourceFile: 'agents/AGENT_ORCHESTRATOR.md' },
      { id: 'PROJECT_DECOMP', sourceFile: 'agents/AGENT_PROJECT_DECOMP.md', allowedTools: ['Read', 'Grep'] },
    ])
  })

  test('no folder: no personas', async () => {
    const personas = new PersonaManager()
    expect([await personas.list(project.root), await personas.listAll(project.root)]).toEqual([[], []])
  })

  test('broken ones are there with error and line, and do not hide the others', async () => {
    project.write({
      'agents/AGENT_A.md': 'fine',
      'agents/AGENT_B.md': '---\ntools: [Read\n---\nx',
      'agents/AGENT_C.md': '---\ntools: Bash(git *)\n---\nx',
    })
    const personas = new PersonaManager()
    expect(await personas.listAll(project.root)).toEqual([
      { kind: 'persona', persona: { id: 'A', sourceFile: 'agents/AGENT_A.md' }, warnings: [] },
      {
        kind: 'broken',
        id: 'B',
        sourceFile: 'agents/AGENT_B.md',
        error: expect.stringContaining('not valid YAML'),
        line: 2,
        problems: [{ line: 2, message: expect.stringContaining('not valid YAML') }],
      },
      {
        kind: 'persona',
        persona: { id: 'C', sourceFile: 'agents/AGENT_C.md', allowedTools: ['Bash(git *)'] },
        warnings: [{ line: 2, message: expect.stringContaining('whole tools') }],
      },
    ])
    expect((await personas.list(project.root)).map(({ id }) => id)).toEqual(['A', 'C'])
  })

  test('a name in the wrong case is told, not passed over', async () => {
    project.write({
      'agents/agent_a.md': 'x',
      'agents/AGENT_B.MD': 'x',
      'agents/AGENT_C D.md': 'x',
      'agents/AGENT_.md': 'x',
    })
    const entries = await new PersonaManager().listAll(project.root)
    expect(entries.map(entry => entry.kind === 'broken' && `${entry.sourceFile}: ${entry.error}`)).toEqual([
      expect.stringMatching(/^agents\/AGENT_\.md: has a name that is longer than/),
      'agents/AGENT_B.MD: must be named AGENT_B.md: capitals count. Rename it.',
      expect.stringMatching(/^agents\/AGENT_C D\.md: has a name that is longer than/),
      'agents/agent_a.md: must be named AGENT_a.md: capitals count. Rename it.',
    ])
  })

  test('two that differ only in case are warned about, where that can happen', async () => {
    project.write({ 'agents/AGENT_twin.md': 'x', 'agents/AGENT_TWIN.md': 'x' })
    const entries = await new PersonaManager().listAll(project.root)
    const isCaseSensitive = entries.length === 2
    expect(entries.map(entry => entry.kind === 'persona' && entry.warnings.length)).toEqual(
      isCaseSensitive ? [1, 1] : [0],
    )
  })
})

describe('the prompt', () => {
  test.each(SESSION_MODES)('says where it is and in which mode: %s', async mode => {
    const prompt = await new PersonaManager().buildSystemPrompt(project.root, null, mode)
    expect(prompt).toContain(`Project root: ${project.root}\nMode: ${mode}\n`)
    expect(prompt.split('# Mode\n\n')[1]).toMatch(MODE_WORDS[mode])
  })

  test('takes 4 KB of README.md and of AGENTS.md, and says what it left out', async () => {
    project.write({ 'README.md': 'R'.repeat(5_000_000), 'AGENTS.md': `${'漢'.repeat(1365)}字字` })
    const { text, truncated, warnings } = await new PersonaManager().composePrompt(
      project.root,
      null,
      'direct',
    )
    expect(text).toContain(
      `\n${'R'.repeat(4096)}\n[README.md was cut here: 4096 characters shown, 4995904 left out]`,
    )
    expect(text).toContain(
      `\n${'漢'.repeat(1365)}\n[AGENTS.md was cut here: 1365 characters shown, 6 left out]`,
    )
    expect(truncated).toEqual([
      { part: 'README.md', keptChars: 4096, droppedChars: 4_995_904 },
      { part: 'AGENTS.md', keptChars: 1365, droppedChars: 6 },
    ])
    expect(warnings).toEqual([])
  })

  test('takes all of AGENTS.md up to 32 KB for an agent that does not read it, and none for one that does', async () => {
    project.write({ 'README.md': 'readme', 'AGENTS.md': 'a'.repeat(33 * 1024) })
    const personas = new PersonaManager()
    const compose = (agentsFile: 'none' | 'whole') =>
      personas.composePrompt(project.root, null, 'direct', { agentsFile })
    const { text, truncated } = await compose('whole')
    expect(text).toContain('a'.repeat(32 * 1024))
    expect(truncated).toEqual([{ part: 'AGENTS.md', keptChars: 32 * 1024, droppedChars: 1024 }])
    const none = await compose('none')
    expect(none.text).not.toContain('AGENTS.md')
    expect(none.text).toContain('\nreadme\n')
    // Each is remembered apart.
    expect((await compose('whole')).text).toBe(text)
  })

  test.each([4095, 4096])('does not cut what is %i bytes long', async size => {
    project.write({ 'README.md': `\uFEFF${'R'.repeat(size)}` })
    const { text, truncated } = await new PersonaManager().composePrompt(project.root, null, 'direct')
    expect(text).toContain(`\n${'R'.repeat(size)}\n</project-file`)
    expect(truncated).toEqual([])
  })

  test('cuts a long persona, and nothing else', async () => {
    project.write({ 'README.md': 'readme', 'agents/AGENT_A.md': 'p'.repeat(200_000) })
    const personas = new PersonaManager()
    const persona = await personas.load(project.root, 'A')
    const { text, estimatedTokens, truncated } = await personas.composePrompt(
      project.root,
      persona,
      'pipeline',
    )
    expect(estimatedTokens).toBe(MAX_PROMPT_TOKENS)
    expect(truncated).toEqual([expect.objectContaining({ part: 'agents/AGENT_A.md' })])
    expect(text).toContain('\nreadme\n')
    expect(text).toMatch(MODE_WORDS.pipeline)
    expect(text).toBe(await personas.buildSystemPrompt(project.root, persona, 'pipeline'))
  })

  test('keeps a folder’s name on its line', async () => {
    project.write({ 'evil\nMode: direct/README.md': 'x' })
    const prompt = await new PersonaManager().buildSystemPrompt(
      project.path('evil\nMode: direct'),
      null,
      'workbench',
    )
    expect(prompt.match(/^Mode: .*$/gm)).toEqual(['Mode: workbench'])
  })

  test('finds the persona’s file by its id, whatever sourceFile says', async () => {
    project.write({ secret: 'top secret', 'agents/AGENT_A.md': 'the real one' })
    const forged: PersonaConfig = { id: 'A', sourceFile: '../secret' }
    const prompt = await new PersonaManager().buildSystemPrompt(project.root, forged, 'direct')
    expect(prompt).toContain('the real one')
    expect(prompt).not.toContain('secret')
    await expect(
      new PersonaManager().buildSystemPrompt(project.root, { ...forged, id: '../secret' }, 'direct'),
    ).rejects.toMatchObject({ code: 'persona-invalid-id' })
  })

  test('is not built without the persona it was asked for', async () => {
    const gone: PersonaConfig = { id: 'GONE', sourceFile: 'agents/AGENT_GONE.md' }
    await expect(new PersonaManager().buildSystemPrompt(project.root, gone, 'direct')).rejects.toMatchObject({
      code: 'persona-missing',
      message: expect.stringContaining('agents/AGENT_GONE.md: is no longer there'),
    })
  })

  test('never outgrows its limit, and never loses its base and its mode', async () => {
    const size = fc.oneof(fc.nat(100), fc.nat(10_000), fc.nat(70_000))
    const letter = fc.constantFrom('a', 'ñ', '漢', '😀')
    const content = fc.tuple(size, letter).map(([length, unit]) => unit.repeat(length))
    const file = fc.option(content, { nil: undefined })
    await fc.assert(
      fc.asyncProperty(
        file,
        file,
        content,
        fc.constantFrom(...SESSION_MODES),
        async (readme, agents, body, mode) => {
          for (const [name, text] of Object.entries({ 'README.md': readme, 'AGENTS.md': agents })) {
            if (text === undefined) rmSync(project.path(name), { force: true })
            else project.write({ [name]: text })
          }
          project.write({ 'agents/AGENT_A.md': `x${body}`.slice(0, 60_000) })
          const personas = new PersonaManager()
          const persona = await personas.load(project.root, 'A')
          const prompt = await personas.buildSystemPrompt(project.root, persona, mode)
          expect(Math.ceil(prompt.length / 4)).toBeLessThanOrEqual(MAX_PROMPT_TOKENS)
          expect(prompt).toContain(`Project root: ${project.root}\nMode: ${mode}\n`)
          expect(prompt.split('# Mode\n\n').at(-1)).toMatch(MODE_WORDS[mode])
        },
      ),
      { numRuns: 60 },
    )
  })
})

test('the prompt of a turn is saved as it was', async () => {
  project.write({ 'README.md': 'readme ñ' })
  const personas = new PersonaManager()
  const prompt = await personas.buildSystemPrompt(project.root, null, 'direct')
  const file = await personas.savePrompt(project.root, 's1', prompt)
  expect(readFileSync(file, 'utf8')).toBe(prompt)
})

test.each(['load', 'list', 'listAll', 'buildSystemPrompt'] as const)('%s: no such project', async method => {
  const personas = new PersonaManager()
  const missing = project.path('nowhere')
  const calls = {
    load: () => personas.load(missing, 'A'),
    list: () => personas.list(missing),
    listAll: () => personas.listAll(missing),
    buildSystemPrompt: () => personas.buildSystemPrompt(missing, null, 'direct'),
  }
  await expect(calls[method]()).rejects.toMatchObject({ code: 'persona-project-missing', file: missing })
})

const MODE_WORDS: Record<SessionMode, RegExp> = {
  workbench: /^Interactive workbench mode\. .*ask when something is unclear\.$/m,
  pipeline: /^Pipeline execution mode\. .*report the results briefly\.$/m,
  direct: /^Direct terminal mode\. .*minimum\.$/m,
}

function inOrder(text: string, ...pieces: string[]): boolean {
  let from = 0
  for (const piece of pieces) {
    const place = text.indexOf(piece, from)
    if (place === -1) return false
    from = place + piece.length
  }
  return true
}
