import type { HarnessInstallStatus } from '@chirality/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import type { AgentTrials, HarnessInfo } from '../../state/server/answers.ts'
import { useAskAgain, useClient, useHarnesses } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Dot, type DotTone } from '../../ui/marks/Dot.tsx'
import { messageOf } from '../../ui/text/error-message.ts'
import { HarnessChecklist } from '../home/HarnessChecklist.tsx'
import { OwnAgents } from './OwnAgents.tsx'
import { SettingsHead } from './SettingsHead.tsx'

type TrialReport = AgentTrials['reports'][number]

export function AgentSettings() {
  const harnesses = useHarnesses()
  return (
    <>
      <SettingsHead
        title="Agents"
        about="The programs that do the work. Chirality runs the ones that are installed, with the login they have."
      />
      <HarnessChecklist harnesses={harnesses} />
      <OwnAgents />
      <Trials harnesses={harnesses} />
    </>
  )
}

/** Results of each installed agent in scripted conversations, and the button that tries it. */
function Trials({ harnesses }: { harnesses: readonly HarnessInfo[] }) {
  const client = useClient()
  const askAgain = useAskAgain()
  const { data: statuses } = useQuery(client.harnesses.status.queryOptions())
  const { data, error } = useQuery(
    client.harnesses.trials.queryOptions(undefined, {
      // Somebody else may have begun one.
      refetchInterval: ({ state }) => (state.data?.running ? 2_000 : false),
      staleTime: 0,
      retry: false,
    }),
  )
  const trial = useMutation(
    client.harnesses.tryOut.mutationOptions({
      onSettled: () => askAgain(client.harnesses.trials.queryFilter()),
    }),
  )
  const installed = harnesses.filter(({ id }) => statuses?.[id]?.installed)
  const running = trial.isPending ? trial.variables.harness : (data?.running ?? null)
  return (
    <section aria-label="Trials">
      <h2 className="settings__group">Trials</h2>
      <p className="settings__trial-about">
        A trial runs an agent through scripted conversations on this machine: no account, no tokens, and
        nothing of yours is read or changed. It takes up to two minutes.
      </p>
      {error ? <p role="alert">{messageOf(error)}</p> : null}
      {trial.error ? <p role="alert">{messageOf(trial.error)}</p> : null}
      <ul className="settings__card">
        {installed.map(harness => (
          <TrialRow
            key={harness.id}
            harness={harness}
            trials={data}
            running={running}
            status={statuses?.[harness.id]}
            refused={trial.data?.harness === harness.id ? trial.data.refused : undefined}
            onTry={() => trial.mutate({ harness: harness.id })}
          />
        ))}
      </ul>
    </section>
  )
}

function TrialRow(props: {
  harness: HarnessInfo
  status: HarnessInstallStatus | undefined
  trials: AgentTrials | undefined
  running: string | null
  refused: string | undefined
  onTry(): void
}) {
  const { harness, status, trials, running, refused, onTry } = props
  const report = trials?.reports.find(({ harness: id }) => id === harness.id)
  const { tone, words } = describe(report, status?.version)
  const isRunning = running === harness.id
  const action = isRunning ? 'Trying…' : report ? 'Try again' : 'Try it'
  return (
    <li className="settings__row">
      <span className="settings__what">
        <b>{harness.name}</b>
        <span className="settings__trial-words" role="status">
          <Dot tone={isRunning ? 'quiet' : tone} /> {isRunning ? 'Being tried' : (refused ?? words)}
        </span>
      </span>
      <Button
        size="small"
        disabled={running !== null || !trials}
        aria-label={`${action}: ${harness.name}`}
        onClick={onTry}
      >
        {action}
      </Button>
      {report && report.findings.length > 0 ? (
        <details className="settings__trial">
          <summary>What it does</summary>
          <ul>
            {report.findings.map(({ behaviour, outcome, evidence }) => (
              <li key={behaviour}>
                <Dot tone={TONES[outcome]} />
                <span>
                  {trials?.behaviours[behaviour] ?? behaviour}{' '}
                  <span className="settings__trial-evidence">
                    {OUTCOMES[outcome]}. {evidence}
                  </span>
                </span>
              </li>
            ))}
          </ul>
        </details>
      ) : null}
    </li>
  )
}

type Outcome = TrialReport['findings'][number]['outcome']

const TONES: Record<Outcome, DotTone> = {
  supported: 'ok',
  differs: 'need',
  missing: 'bad',
  'not-offered': 'quiet',
}

const OUTCOMES: Record<Outcome, string> = {
  supported: 'Supported',
  differs: 'Differs',
  missing: 'Missing',
  'not-offered': 'Not offered',
}

function describe(
  report: TrialReport | undefined,
  installed: string | undefined,
): { tone: DotTone; words: string } {
  if (!report) return { tone: 'quiet', words: 'This version was never tried here.' }
  if (installed !== undefined && report.version !== installed)
    return { tone: 'quiet', words: `${installed} was never tried here; ${report.version ?? 'another'} was.` }
  const others = report.findings.filter(
    ({ outcome }) => outcome === 'differs' || outcome === 'missing',
  ).length
  const when = new Date(report.at).toLocaleDateString()
  const version = report.version ? `${report.version}, tried ` : 'Tried '
  if (others === 0) return { tone: 'ok', words: `${version}${when}: works.` }
  return { tone: 'need', words: `${version}${when}: ${others} of ${report.findings.length} differ.` }
}
