import { visibleText } from '@chirality/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { ProjectSettingsInfo, SessionStatus } from '../../state/server/answers.ts'
import { useAskAgain, useClient, useHarness } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { messageOf } from '../../ui/text/error-message.ts'
import { plural } from '../../ui/text/format.ts'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import './trust.css'

/**
 * What a project brings for its agents to run. While it is not used this is a notice; once it is, a quiet line in the persona
 * pane, from where it can be taken back.
 */
export function ProjectSettings({
  status,
  when,
}: {
  status: Pick<SessionStatus, 'projectRoot' | 'turnId' | 'harness'>
  when: 'unused' | 'used'
}) {
  const { projectRoot, turnId } = status
  const client = useClient()
  const queries = useQueryClient()
  const askAgain = useAskAgain()
  const [isOpen, setOpen] = useState(false)
  const { data } = useQuery(client.trust.get.queryOptions({ project: projectRoot }))

  // An agent can write such files: each start and end of a turn may be another answer.
  useEffect(() => {
    void askAgain(client.trust.get.queryFilter({ project: projectRoot }))
  }, [client, askAgain, projectRoot, turnId])

  // An agent that is still to be chosen may be one that uses them.
  const matters = useHarness(status.harness)?.usesProjectFiles ?? status.harness === null
  const isShown = matters && data && hasAny(data) && data.isTrusted === (when === 'used')
  if (!data || (!isShown && !isOpen)) return null
  return (
    <>
      {isShown ? (
        <p className={`trust trust--${when}`}>
          <span>{summaryOf(data)}</span>
          <Button size="small" look={when === 'used' ? 'quiet' : 'plain'} onClick={() => setOpen(true)}>
            Look at them
          </Button>
        </p>
      ) : null}
      {isOpen ? (
        <SettingsDialog
          projectRoot={projectRoot}
          first={data}
          onChange={next => queries.setQueryData(client.trust.get.queryKey({ project: projectRoot }), next)}
          onClose={() => setOpen(false)}
        />
      ) : null}
    </>
  )
}

/** Allows exactly the files it shows: they do not change while the dialog is open. */
function SettingsDialog({
  projectRoot,
  first,
  onChange,
  onClose,
}: {
  projectRoot: string
  first: ProjectSettingsInfo
  onChange(next: ProjectSettingsInfo): void
  onClose(): void
}) {
  const client = useClient()
  const [shown, setShown] = useState(first)
  const [problem, setProblem] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)

  const show = (next: ProjectSettingsInfo) => {
    setShown(next)
    onChange(next)
  }
  const act = async (action: () => Promise<ProjectSettingsInfo>) => {
    setBusy(true)
    setProblem(null)
    try {
      show(await action())
      onClose()
    } catch (error) {
      setProblem(messageOf(error))
      await client.trust.get.query({ project: projectRoot }).then(show, () => undefined)
    } finally {
      setBusy(false)
    }
  }

  return (
    <Dialog title="Agent settings of this project" onClose={onClose}>
      <div className="trust__body">
        <p className="trust__about">
          {shown.isTrusted
            ? 'Agents use these files. They can start programs, and say where your key is sent.'
            : 'These files can start programs on this machine, and say where your key is sent. Agents do not use them until you allow exactly what is shown here; when a file changes, you are asked again.'}
        </p>
        {problem ? (
          <p className="trust__problem" role="alert">
            {problem}
          </p>
        ) : null}
        {shown.problem ? <p className="trust__problem">{shown.problem}</p> : null}
        <ScrollRegion className="trust__files" label="Files">
          {shown.files.map(({ path, text, bytes }) => (
            <section key={path} className="trust__file">
              <h3>
                {visibleText(path)} <span className="trust__size">{plural(bytes, 'byte')}</span>
              </h3>
              <pre>{visibleText(text)}</pre>
            </section>
          ))}
        </ScrollRegion>
        <footer className="trust__foot">
          <Button onClick={onClose}>Close</Button>
          {shown.isTrusted ? (
            <Button
              look="danger"
              disabled={isBusy}
              onClick={() => void act(() => client.trust.revoke.mutate({ project: projectRoot }))}
            >
              Stop using these files
            </Button>
          ) : (
            <Button
              look="primary"
              disabled={isBusy || shown.problem !== undefined || shown.files.length === 0}
              onClick={() =>
                void act(() =>
                  client.trust.allow.mutate({ project: projectRoot, fingerprint: shown.fingerprint }),
                )
              }
            >
              Use these files
            </Button>
          )}
        </footer>
      </div>
    </Dialog>
  )
}

function hasAny({ files, problem }: ProjectSettingsInfo): boolean {
  return files.length > 0 || problem !== undefined
}

function summaryOf({ files, isTrusted }: ProjectSettingsInfo): string {
  const count = files.length === 0 ? '' : ` (${plural(files.length, 'file')})`
  return `This project brings its own agent settings${count}. They are ${isTrusted ? 'used' : 'not used'}.`
}
