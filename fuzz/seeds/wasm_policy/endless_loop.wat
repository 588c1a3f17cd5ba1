(module (func (export "decide") (param f64 f64 f64 f64 f64 f64 f64 f64 f64) (result f64) (loop (br 0)) unreachable))
