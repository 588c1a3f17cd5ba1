// The panel of a lesson, and the list of all lessons.

import { LESSONS, isMade, type Lesson } from "./lessons.ts";
import type { Settings } from "./settings.ts";

interface Props {
  lesson: Lesson;
  /** Whether each step has been observed. */
  done: boolean[];
  settings: Settings;
  onChange(changed: Partial<Settings>): void;
  onChoose(lesson: Lesson | null): void;
}

export function LessonPanel({ lesson, done, settings, onChange, onChoose }: Props) {
  const at = done.indexOf(false);
  const shown = at < 0 ? lesson.steps : lesson.steps.slice(0, at + 1);
  const next = LESSONS[LESSONS.indexOf(lesson) + 1];
  return (
    <section class="lesson" aria-label={`Lesson: ${lesson.title}`}>
      <button class="quiet" onClick={() => onChoose(null)} aria-label="Leave the lesson">×</button>
      <h2><small>Lesson {LESSONS.indexOf(lesson) + 1} of {LESSONS.length}</small> {lesson.title}</h2>
      <ol aria-live="polite">
        {shown.map((step, index) => (
          <li class={done[index] ? "done" : ""}>
            <span class="hidden">{done[index] ? "Observed: " : "To observe: "}</span>{step.say}
            {step.change !== undefined && !isMade(step, settings) && (
              <button onClick={() => onChange(step.change ?? {})}>Do it for me</button>
            )}
          </li>
        ))}
      </ol>
      {at < 0 && (
        <div class="question">
          <p><b>{lesson.question}</b></p>
          <details>
            <summary>Answer</summary>
            <p>{lesson.answer}</p>
          </details>
          {next !== undefined && <button class="main" onClick={() => onChoose(next)}>Next: {next.title}</button>}
        </div>
      )}
    </section>
  );
}

export function LessonList({ onChoose }: { onChoose(lesson: Lesson): void }) {
  return (
    <nav class="lessons" aria-label="Lessons">
      <h2>Lessons of five minutes</h2>
      <ol>
        {LESSONS.map((lesson) => (
          <li><button class="link" onClick={() => onChoose(lesson)}>{lesson.title}</button></li>
        ))}
      </ol>
      <p><a href="teachers.html">Questions and answers for teachers</a></p>
    </nav>
  );
}
