import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useDeferredValue, useState } from 'react'
import { fromSlug, projectName } from '../../app/project.ts'
import { useFleet, useFleetLoaded, useParked } from '../../state/fleet/use-fleet.ts'
import { setProjectFilter, useProjectFilter } from '../../state/kept/project-filter.ts'
import type { LoopTaskState } from '../../state/server/answers.ts'
import { useClient, useProjects } from '../../state/server/use-client.ts'
import { Picker } from '../../ui/controls/Picker.tsx'
import { Dot } from '../../ui/marks/Dot.tsx'
import { Empty } from '../../ui/marks/Empty.tsx'
import { groupSessions, matches, taskLine, unarchived } from './groups.logic.ts'
import { hitPlace, hitsIn, hitTitle, Snippet } from './SearchHit.tsx'
import { SessionRow } from './SessionRow.tsx'
import './sidebar.css'

export const MIN_SEARCH_CHARS = 3

export function Sidebar() {
  const statuses = unarchived(useFleet())
  const loaded = useFleetLoaded()
  const { sessionId, project: slug } = useParams({ strict: false })
  const filter = useProjectFilter()
  const project = fromSlug(slug) ?? filter
  const [text, setText] = useState('')
  const inProject =
    project === null ? statuses : statuses.filter(({ projectRoot }) => projectRoot === project)
  const showProject = inProject.some(({ projectRoot }) => projectRoot !== inProject[0]?.projectRoot)
  const parked = useParked().filter(
    ({ project: root, title }) =>
      (project === null || root === project) && title.toLowerCase().includes(text.toLowerCase()),
  )
  const groups = groupSessions(text === '' ? inProject : inProject.filter(status => matches(status, text)), {
    pins: true,
  })
  return (
    <nav className="sidebar" aria-label="Sessions">
      <input
        className="input sidebar__search"
        type="search"
        aria-label="Search sessions"
        placeholder="Search"
        value={text}
        onChange={event => setText(event.target.value)}
      />
      <ProjectChoice project={project} />
      <div className="sidebar__list">
        {parked.length > 0 && groups[0]?.name !== 'Needs you' ? (
          <section aria-label="Needs you">
            <h2 className="sidebar__group sidebar__group--need">
              Needs you <span className="number">{parked.length}</span>
            </h2>
            <ParkedRows parked={parked} />
          </section>
        ) : null}
        {groups.map(({ name, sessions }) => (
          <section key={name} aria-label={name}>
            <h2 className={name === 'Needs you' ? 'sidebar__group sidebar__group--need' : 'sidebar__group'}>
              {name}{' '}
              <span className="number">{sessions.length + (name === 'Needs you' ? parked.length : 0)}</span>
            </h2>
            {name === 'Needs you' ? <ParkedRows parked={parked} /> : null}
            <ul>
              {sessions.map(status => (
                <SessionRow
                  key={status.sessionId}
                  status={status}
                  active={status.sessionId === sessionId}
                  showProject={showProject}
                />
              ))}
            </ul>
          </section>
        ))}
        {loaded && inProject.length === 0 ? (
          <Empty title={project === null ? 'No sessions yet' : `No sessions in ${projectName(project)} yet`}>
            Start one with N.
          </Empty>
        ) : null}
        {groups.length === 0 && inProject.length > 0 && text.trim().length < MIN_SEARCH_CHARS ? (
          <p className="sidebar__none">Nothing is called so.</p>
        ) : null}
        <Found text={text} />
      </div>
    </nav>
  )
}

/** Tasks of loops that wait before anything of them has run: they have no session to show. */
function ParkedRows({ parked }: { parked: readonly LoopTaskState[] }) {
  if (parked.length === 0) return null
  return (
    <ul>
      {parked.map(task => (
        <li key={`${task.loopId} ${task.id}`} className="session-row">
          <Link className="session-row__link" to="/loops/$loopId" params={{ loopId: task.loopId }}>
            <Dot tone="need" />
            <span className="session-row__title">
              <span className="truncate">{task.title}</span>
            </span>
            <span className="session-row__line truncate">{taskLine(task)}</span>
          </Link>
        </li>
      ))}
    </ul>
  )
}

/** Which project's sessions are listed. Of no use to somebody who has only one. */
function ProjectChoice({ project }: { project: string | null }) {
  const navigate = useNavigate()
  const { project: slug } = useParams({ strict: false })
  const projects = useProjects()
  if (projects.length < 2 && project === null) return null
  const known = project === null || projects.some(({ root }) => root === project)
  const choose = (root: string) => {
    setProjectFilter(root === '' ? null : root)
    // The page of a project is about that one.
    if (slug !== undefined) void navigate({ to: '/' })
  }
  return (
    <div className="sidebar__project">
      <Picker
        label="Project"
        value={project ?? ''}
        onChange={choose}
        icon="folder"
        options={[
          { value: '', label: 'All projects' },
          ...projects.map(({ root, name }) => ({ value: root, label: name, detail: root })),
          ...(known ? [] : [{ value: project, label: projectName(project) }]),
        ]}
      />
    </div>
  )
}

/** Hits in conversations, listed after sessions found by name. */
function Found({ text }: { text: string }) {
  const client = useClient()
  const wanted = useDeferredValue(text.trim())
  const { data } = useQuery(
    client.sessions.search.queryOptions(
      { query: wanted, limit: 20 },
      { enabled: wanted.length >= MIN_SEARCH_CHARS, select: hitsIn },
    ),
  )
  const statuses = useFleet()
  if (wanted.length < MIN_SEARCH_CHARS || !data) return null
  return (
    <section aria-label="In conversations">
      <h2 className="sidebar__group">In conversations</h2>
      {data.length === 0 ? <p className="sidebar__none">Nothing was said about it.</p> : null}
      <ul>
        {data.map((hit, index) => (
          <li key={`${hit.sessionId}-${index}`}>
            <Link className="sidebar__hit" {...hitPlace(hit)}>
              <span className="truncate">{hitTitle(hit, statuses)}</span>
              <span className="sidebar__excerpt">
                <Snippet excerpt={hit.snippet} query={wanted} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}
