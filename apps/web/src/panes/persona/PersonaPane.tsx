import { MODE_WORDS, SESSION_MODES, type SessionMode } from '@chirality/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { SessionStatus } from '../../state/server/answers.ts'
import { useAskAgain, useClient, usePersonas } from '../../state/server/use-client.ts'
import { CopyButton } from '../../ui/controls/CopyButton.tsx'
import { SelectField } from '../../ui/controls/SelectField.tsx'
import { Meter } from '../../ui/marks/Meter.tsx'
import { messageOf } from '../../ui/text/error-message.ts'
import { formatCount } from '../../ui/text/format.ts'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { ProjectSettings } from '../trust/ProjectSettings.tsx'
import './persona.css'
import { Button } from '../../ui/controls/Button.tsx'

/** The server cuts longer prompts to this. */
const MAX_PROMPT_TOKENS = 16_000

/** The system prompt as an agent would get it, and how much of the room it takes. A preview: it sets nothing. */
export default function PersonaPane({ status }: { status: SessionStatus }) {
  const client = useClient()
  const { projectRoot } = status
  const [persona, setPersona] = useState(status.persona ?? '')
  const [mode, setMode] = useState<SessionMode>(status.mode)
  const personas = usePersonas(projectRoot).data ?? []
  const { data, error } = useQuery(
    client.personas.prompt.queryOptions(
      { project: projectRoot, id: persona || null, mode },
      { retry: false },
    ),
  )
  const broken = personas.find(({ id }) => id === persona)?.error
  return (
    <div className="persona">
      <p className="persona__about">
        A preview: choosing here shows what an agent would be told, and changes nothing. This session runs
        with {status.persona ?? 'no persona'}, {MODE_WORDS[status.mode].label.toLowerCase()}.
      </p>
      <ProjectSettings status={status} when="used" />
      <div className="persona__choice">
        <SelectField
          label="Preview with persona"
          value={persona}
          onChange={setPersona}
          options={[{ value: '', label: 'none' }, ...personas.map(({ id }) => ({ value: id, label: id }))]}
        />
        <SelectField<SessionMode>
          label="Preview with mode"
          value={mode}
          onChange={setMode}
          options={SESSION_MODES.map(name => ({
            value: name,
            label: MODE_WORDS[name].label,
            detail: MODE_WORDS[name].consequence,
          }))}
        />
      </div>
      {broken ? <p className="persona__note">{broken}</p> : null}
      {persona && !broken ? <PersonaConsent project={projectRoot} persona={persona} /> : null}
      {error && !broken ? <p className="persona__note">{messageOf(error)}</p> : null}
      {data ? (
        <>
          <p className="persona__meter">
            <Meter label="Tokens of the prompt" value={data.estimatedTokens} max={MAX_PROMPT_TOKENS} />
            <span className="number">{`~${formatCount(data.estimatedTokens)} of ${formatCount(MAX_PROMPT_TOKENS)} tokens`}</span>
            <span className="spacer" />
            <CopyButton text={data.text} label="Copy the prompt" />
          </p>
          {[...data.truncated.map(({ part }) => `Cut to fit: ${part}`), ...data.warnings].map(note => (
            <p key={note} className="persona__note">
              {note}
            </p>
          ))}
          <ScrollRegion className="persona__text" label="The prompt">
            <pre>{data.text}</pre>
          </ScrollRegion>
        </>
      ) : null}
    </div>
  )
}

/** What a persona would do without asking. It does so only when its text, as it is now, was allowed. */
export function PersonaConsent({ project, persona }: { project: string; persona: string }) {
  const client = useClient()
  const askAgain = useAskAgain()
  const { data } = useQuery(client.personas.consent.queryOptions({ project, id: persona }, { retry: false }))
  const allow = useMutation(
    client.personas.allow.mutationOptions({
      onSettled: () => askAgain(client.personas.consent.queryFilter({ project, id: persona })),
    }),
  )
  if (!data || data.grants.length === 0) return null
  const grants = data.grants.join(', ')
  if (data.isAllowed)
    return <p className="persona__note">{`You allowed this text to ${grants} without asking.`}</p>
  return (
    <div className="persona__note">
      <p>{`This text wants to ${grants} without asking. Until you allow it, each use is asked about.`}</p>
      <Button
        disabled={allow.isPending}
        onClick={() => allow.mutate({ project, id: persona, fingerprint: data.fingerprint })}
      >
        Allow this text
      </Button>
      {allow.error ? <p>{messageOf(allow.error)}</p> : null}
    </div>
  )
}
