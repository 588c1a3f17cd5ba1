// The teachers' page: every lesson with its steps, its question and its answer.

import { render } from "preact";
import { LESSONS } from "./lessons.ts";
import { command, toHash } from "./settings.ts";

function Teachers() {
  return (
    <main class="teachers">
      <h1>goodqueue <small>playground: for teachers</small></h1>
      <p>
        Each lesson takes about five minutes. The page ticks a step off when it could be observed. Every run is the same on every
        computer, so the whole class sees the same packets. <a href="./">Back to the playground</a>
      </p>
      {LESSONS.map((lesson, index) => (
        <section id={lesson.id}>
          <h2>{index + 1}. <a href={`./${toHash(lesson.settings, "") || "#"}&lesson=${lesson.id}`}>{lesson.title}</a></h2>
          <ol>{lesson.steps.map((step) => <li>{step.say}</li>)}</ol>
          <p><b>Question:</b> {lesson.question}</p>
          <p><b>Answer:</b> {lesson.answer}</p>
          <p>The same runs at the command line: <code>{command(lesson.settings)}</code></p>
        </section>
      ))}
      <h2>In your own page</h2>
      <p>One line shows a line and its queues, without the controls. Take the part behind <code>#</code> from a copied link.</p>
      <pre>{'<iframe src="https://YOUR-HOST/playground/?embed#LINK" width="100%" height="700" title="Two queues"></iframe>'}</pre>
    </main>
  );
}

const root = document.getElementById("page");
if (root !== null) render(<Teachers />, root);
