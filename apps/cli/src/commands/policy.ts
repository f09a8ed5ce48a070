import { stat } from 'node:fs/promises'
import path from 'node:path'
import { PersonaManager } from '@chirality/personas'
import {
  ignoredRules,
  PolicyBook,
  type PolicySource,
  problemLines,
  type RehearsedRequest,
  rehearsePolicy,
  SessionStore,
} from '@chirality/sessions'
import { EXIT, UsageError } from '../exit-code.ts'
import { chooseAction, noArgument, projectFolder, readOptions } from '../options.ts'
import { type Output, tell } from '../output.ts'
import { plain, type Style, style, wantsColour } from '../render/style.ts'

/** The rules that answer agents: their list, their errors, and what they would have changed. Writes nothing. */
export async function policy(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    project: { type: 'string' },
    policy: { type: 'string' },
    json: { type: 'boolean' },
  })
  const { run, rest } = chooseAction('policy', positionals, ACTIONS)
  noArgument(rest)
  const personas = new PersonaManager()
  const request: PolicyRequest = {
    project: await projectFolder(values.project),
    draft: await readDraft(values.policy),
    policies: new PolicyBook({ personas }),
    personas,
    json: values.json ?? false,
    output,
  }
  return run(request)
}

const ACTIONS = { check: checkPolicy, show: showPolicy, rehearse }

/** Whether every applicable file is valid. Exits with 2 if one is not: every call asks then. */
async function checkPolicy(request: PolicyRequest): Promise<number> {
  const { json, output } = request
  const paint = style(wantsColour(output.isTerminal))
  const sources = (await allSources(request)).filter(({ exists, problems }) => exists || problems.length > 0)
  for (const source of sources)
    await output.write(json ? `${JSON.stringify(checked(source))}\n` : verdictOf(source, paint))
  if (sources.length === 0 && !json)
    await output.write('No policy applies: agents ask about everything that they do not allow themselves.\n')
  const isBroken = sources.some(({ problems }) => problems.length > 0)
  if (isBroken && !json) await output.write('Until this is right, nothing is allowed by a rule.\n')
  return isBroken ? EXIT.usage : EXIT.done
}

function checked(source: PolicySource) {
  const { kind, file, rules, problems } = source
  const ok = problems.length === 0
  return { kind, file, ok, rules: rules.length, problems, warnings: ok ? warnings(source) : [] }
}

function warnings(source: PolicySource): { line: number; message: string }[] {
  return ignoredRules(source).map(({ line, text }) => ({
    line,
    message: `"${text}" does nothing here: only your own policy, outside of the project, can allow.`,
  }))
}

function verdictOf(source: PolicySource, paint: Style): string {
  const { kind, file, rules, problems } = source
  const isGood = problems.length === 0
  const mark = isGood ? paint.green('✓') : paint.red('✗')
  const count = `${rules.length} rule${rules.length === 1 ? '' : 's'}`
  const head = `${mark} ${plain(file)}  ${paint.dim(`${SOURCE_NAMES[kind]}, ${isGood ? count : 'not used'}`)}\n`
  const said = isGood ? warnings(source) : problems
  return (
    head + said.map(({ line, message }) => `    ${line > 0 ? `${line}: ` : ''}${plain(message)}\n`).join('')
  )
}

/** The rules in the order of evaluation, and their files, existing or not. */
async function showPolicy(request: PolicyRequest): Promise<number> {
  const { json, output } = request
  const paint = style(wantsColour(output.isTerminal))
  for (const source of await allSources(request))
    await output.write(json ? `${JSON.stringify(source)}\n` : rulesOf(source, paint))
  return EXIT.done
}

function rulesOf(source: PolicySource, paint: Style): string {
  const { kind, file, exists, rules, problems } = source
  const state =
    problems.length > 0 ? ', has errors: see `chirality policy check`' : exists ? '' : ', not there'
  const ignored = new Set(ignoredRules(source))
  const lines = rules.map(
    rule =>
      `  ${String(rule.line).padStart(LINE_WIDTH)}  ${plain(rule.text)}${ignored.has(rule) ? paint.dim('  (does nothing here)') : ''}\n`,
  )
  return `${paint.bold(plain(file))}  ${paint.dim(`${SOURCE_NAMES[kind]}${state}`)}\n${lines.join('')}`
}

const LINE_WIDTH = 4

/** The decisions of the rules about past requests, if they differ from what happened. */
async function rehearse(request: PolicyRequest): Promise<number> {
  const { project, draft, policies, json, output } = request
  const broken = (await allSources(request)).filter(({ problems }) => problems.length > 0)
  for (const problem of broken.flatMap(problemLines)) await tell(`chirality: ${plain(problem)}\n`)
  if (broken.length > 0) return EXIT.usage
  const totals = new Totals()
  const unreadable: string[] = []
  const paint = style(wantsColour(output.isTerminal))
  const rehearsed = rehearsePolicy(project, {
    store: new SessionStore(),
    policies,
    ...(draft === undefined ? {} : { edited: policies.draft(draft) }),
    onUnreadable: (sessionId, error) =>
      unreadable.push(`${sessionId}: ${error instanceof Error ? error.message : error}`),
  })
  for await (const each of rehearsed) {
    totals.add(each)
    if (!each.differs) continue
    const { differs: _differs, ...change } = each
    if (
      !(await output.write(json ? `${JSON.stringify({ kind: 'change', ...change })}\n` : text(each, paint)))
    )
      break
  }
  for (const session of unreadable) await tell(`chirality: Left out ${plain(session)}\n`)
  await output.write(json ? `${JSON.stringify({ kind: 'total', ...totals.counts })}\n` : totals.text())
  return EXIT.done
}

class Totals {
  readonly counts = { requests: 0, sessions: 0, changes: 0, allow: 0, ask: 0, deny: 0 }
  #lastSession: string | undefined

  /** Sessions come one after the other. */
  add({ sessionId, wouldBe, differs }: RehearsedRequest): void {
    if (sessionId !== this.#lastSession) this.counts.sessions += 1
    this.#lastSession = sessionId
    this.counts.requests += 1
    this.counts[wouldBe.effect] += 1
    if (differs) this.counts.changes += 1
  }

  text(): string {
    const { requests, sessions, changes, allow, ask, deny } = this.counts
    if (requests === 0) return 'No agent has asked for anything in this project yet.\n'
    return (
      `${changes} of ${count(requests, 'request')} in ${count(sessions, 'session')} would change. ` +
      `In all: ${allow} allowed, ${ask} asked, ${deny} denied.\n`
    )
  }
}

function text(change: RehearsedRequest, paint: Style): string {
  const { sessionId, at, toolName, argument, always, was, wouldBe } = change
  const when = at.slice(0, 'YYYY-MM-DDTHH:MM:SS'.length).replace('T', ' ')
  const past = was.by === undefined ? 'not answered' : `${was.outcome} by ${PAST_NAMES[was.by]}`
  const rule = wouldBe.rule === undefined ? 'no rule' : wouldBe.rule
  return (
    `${paint.dim(`${when}  ${sessionId}`)}  ${plain(toolName)}  ${oneLine(argument)}\n` +
    `    ${past} → ${paint.bold(FUTURE_NAMES[wouldBe.effect])}  ${paint.dim(oneLine(rule))}\n` +
    (wouldBe.effect === 'ask' && always
      ? `    ${paint.dim(`"Always" would write: ${oneLine(always)}`)}\n`
      : '')
  )
}

const PAST_NAMES = {
  person: 'a person',
  policy: 'a policy',
  timeout: 'the timeout',
  agent: 'the agent',
  'turn-end': 'the end of the turn',
  failure: 'a failure',
}
const FUTURE_NAMES = { allow: 'allow', ask: 'ask a person', deny: 'deny' }
const MAX_LINE_CHARS = 200

function oneLine(value: string): string {
  const line = plain(value).replace(/\s+/g, ' ')
  return line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS)}…` : line
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`
}

/** Every file that can apply in the project, for any persona, each once. */
async function allSources({ project, draft, policies, personas }: PolicyRequest): Promise<PolicySource[]> {
  const found = new Map<string, PolicySource>()
  const add = (sources: PolicySource[]) => {
    for (const source of sources) if (!found.has(source.file)) found.set(source.file, source)
  }
  add(await policies.sources(project))
  for (const entry of await personas.listAll(project)) {
    const id = entry.kind === 'persona' ? entry.persona.id : entry.id
    if (id !== '') add(await policies.sources(project, id))
  }
  const sources = [...found.values()]
  if (draft === undefined) return sources
  const edited = policies.draft(draft)
  return sources.map(source => (source.kind === edited.kind ? edited : source))
}

/** The name of each kind of source, for display. */
const SOURCE_NAMES: Record<PolicySource['kind'], string> = {
  'user-persona': 'yours, for this persona',
  'user-project': 'yours, for this project',
  'user-global': 'yours, for every project',
  persona: 'the persona’s',
  project: 'the project’s',
}

/** The file that --policy names. A missing file is usually a typing error. */
async function readDraft(given: string | undefined): Promise<string | undefined> {
  if (given === undefined) return undefined
  const file = path.resolve(given)
  const info = await stat(file).catch(() => null)
  if (info?.isFile()) return file
  throw new UsageError(`The policy ${file} ${info ? 'is not a file' : 'does not exist'}.`)
}

interface PolicyRequest {
  project: string
  /** A file that replaces the user's policy for the project. */
  draft: string | undefined
  policies: PolicyBook
  personas: PersonaManager
  json: boolean
  output: Output
}
