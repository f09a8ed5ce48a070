import type { ProjectBudgetChange } from '../../../src/state/server/answers.ts'
import type { Answers, CannedState } from './state.ts'

/** Projects, agents, personas, tool servers, rules, trust and the browsers of the user. */
export function settingsAnswers(api: CannedState): Answers {
  return {
    'system.info': () => ({ version: '0.1.0', demo: api.demo }),
    'system.newSignInLink': () => api.signInLink,
    'system.push': () => ({ publicKey: '', show: null }),
    'system.unsubscribePush': () => ({ show: null }),
    'system.browsers': () => api.browsers,
    'system.revokeBrowser': ({ id }: { id: string }) => {
      api.browsers = api.browsers.filter(browser => browser.id !== id)
      return { revoked: true }
    },
    'projects.list': () => api.projects.filter(({ root }) => !api.onlyDemo || root === api.demo?.projectRoot),
    'projects.register': ({ path }: { path: string }) => {
      const name = path.split('/').at(-1) ?? path
      const added = { root: path, name, addedAt: '', open: true, lockedBy: null, missing: false }
      api.projects = [...api.projects, added]
      return added
    },
    'projects.folders': ({ typed }: { typed: string }) => (typed.startsWith('~/pa') ? ['~/parser-kit/'] : []),
    'projects.repositories': () => api.repositories,
    'budgets.get': () => api.budget,
    'budgets.set': ({ maxCostUsd, maxTokens, maxMinutes }: ProjectBudgetChange) => {
      api.budget = {
        ...api.budget,
        ...(maxCostUsd === undefined ? {} : { max_cost_usd: maxCostUsd }),
        ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
        ...(maxMinutes === undefined ? {} : { max_minutes: maxMinutes }),
      }
      return api.budget
    },
    'harnesses.list': () => api.harnesses,
    'harnesses.status': () => api.installed,
    'harnesses.trials': () => ({
      running: null,
      behaviours: { text: 'Answers, and ends its turn once', deny: 'Obeys a denial' },
      reports: [
        {
          ...{ harness: 'claude-code', name: 'Claude Code', version: '2.1.325', durationMs: 21_000 },
          at: '2026-11-09T09:00:00.000Z',
          findings: [
            { behaviour: 'text', outcome: 'supported', evidence: 'The answer came whole.' },
            { behaviour: 'deny', outcome: 'differs', evidence: 'The turn ends as interrupted.' },
          ],
        },
      ],
    }),
    'harnesses.models': ({ harness }: { harness: string }) =>
      api.models ?? api.harnesses.find(({ id }) => id === harness)?.models ?? [],
    'harnesses.slashCommands': () => [
      { name: 'compact', type: 'slash_command', description: 'Make the conversation shorter' },
      { name: 'review', type: 'slash_command', description: 'Review the changes' },
    ],
    'personas.list': () => [
      {
        kind: 'persona',
        persona: { id: 'DECOMP', sourceFile: 'agents/AGENT_DECOMP.md', description: 'Splits work' },
        warnings: [],
      },
      {
        kind: 'broken',
        id: 'OLD',
        sourceFile: 'agents/AGENT_OLD.md',
        error: 'Line 3: unknown tool',
        problems: [],
      },
    ],
    'personas.prompt': () => ({
      text: 'You are DECOMP.\n\nSplit the work.',
      estimatedTokens: 4100,
      truncated: [],
      warnings: [],
    }),
    'personas.source': ({ id }: { id: string }) => ({
      text: `---\ndescription: Splits work\n---\nYou are ${id}.\n`,
      revision: 'a'.repeat(64),
    }),
    'personas.check': ({ id }: { id: string }) => ({
      persona: { id, sourceFile: `agents/AGENT_${id}.md`, allowedTools: ['Read'], budgetUsd: 2 },
      ...{ problems: [], unmet: [], warnings: [{ line: 2, message: 'a warning to look at' }] },
      prompt: { text: `You are ${id}.`, estimatedTokens: 900, truncated: [], warnings: [] },
    }),
    'personas.consent': () => api.consent,
    'personas.allow': () => {
      api.consent = { ...api.consent, isAllowed: true }
      return null
    },
    'agents.list': () => ({
      ...{ file: '/home/you/agents.json', problems: [], refusal: null },
      agents: [
        {
          ...{ id: 'acp-mine', name: 'mine', title: 'My agent', command: 'my-agent', args: ['--acp'] },
          ...{ env: ['MY_API_KEY'], fingerprint: 'f' },
        },
      ],
    }),
    'toolServers.list': () => [
      {
        ...{ place: { kind: 'user-project' }, file: '/home/you/tool-servers/1.json', problems: [] },
        servers: [
          {
            ...{ name: 'tracker', fingerprint: 'f', wasTried: false, untried: null },
            config: {
              type: 'stdio',
              command: 'npx',
              args: ['tracker-mcp', '--read-only'],
              env: ['TRACKER_KEY'],
            },
          },
        ],
      },
      {
        ...{ place: { kind: 'project' }, file: '.mcp.json', problems: ['"x y" is no server.'] },
        servers: [
          {
            ...{ name: 'design', fingerprint: 'g', wasTried: false, untried: 'You have not allowed it.' },
            config: { type: 'http', url: 'https://mcp.design.example', headers: ['Authorization'] },
          },
        ],
      },
    ],
    'rules.list': () => shownRules(api),
    'rules.remove': ({ text }: { text: string }) => {
      api.rules = api.rules.filter(rule => rule.text !== text)
      return shownRules(api)
    },
    'trust.get': () => shownTrust(api),
    'trust.allow': () => {
      api.trust = { ...api.trust, isTrusted: true }
      return shownTrust(api)
    },
    'trust.revoke': () => {
      api.trust = { ...api.trust, isTrusted: false }
      return shownTrust(api)
    },
  }
}

function shownTrust(api: CannedState) {
  const { problem, ...trust } = api.trust
  return problem === null ? trust : { ...trust, problem }
}

function shownRules(api: CannedState) {
  const own = { trusted: true, exists: true, problems: [] }
  return [
    {
      kind: 'user-project',
      file: '/home/me/.chirality/policies/parser-kit.policy',
      ...own,
      rules: api.rules,
    },
    { kind: 'user-global', file: '/home/me/.chirality/policies/global.policy', ...own, rules: [] },
    {
      ...{ kind: 'project', file: '.chirality/policy', trusted: false, exists: true, problems: [] },
      rules: [{ effect: 'allow', tool: 'Bash', line: 1, text: 'allow Bash' }],
    },
  ]
}
