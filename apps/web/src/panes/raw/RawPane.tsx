import { lazy, Suspense, useState } from 'react'
import { Empty } from '../../ui/marks/Empty.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { RawView } from './RawView.tsx'
import { type Side, useChosen } from './use-chosen.ts'
import { useRawLists } from './use-raw-lists.ts'
import './raw.css'

const Replay = lazy(() => import('./Replay.tsx'))

/** The session as it is: each event, and what the agent printed for it. */
export default function RawPane({ sessionId }: { sessionId: string }) {
  const lists = useRawLists(sessionId)
  const choice = useChosen(lists)
  const [filter, setFilter] = useState('')
  const [shown, setShown] = useState<Side>('events')
  const [open, setOpen] = useState<'wide' | 'replay' | null>(null)
  const close = () => setOpen(null)
  const view = (
    <RawView
      lists={lists}
      choice={choice}
      filter={filter}
      shown={shown}
      onFilter={setFilter}
      onShow={setShown}
      onReplay={() => setOpen('replay')}
      onWiden={open === 'wide' ? undefined : () => setOpen('wide')}
    />
  )
  if (open === 'wide')
    return (
      <>
        <Empty title="Shown side by side" />
        <Dialog title="Raw" place="wide" onClose={close}>
          {view}
        </Dialog>
      </>
    )
  return (
    <>
      {view}
      <Suspense>{open === 'replay' ? <Replay sessionId={sessionId} onClose={close} /> : null}</Suspense>
    </>
  )
}
