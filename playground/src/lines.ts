// Lines whose rate varies, as `goodqueue advise` models them. Written by
// `UPDATE=1 cargo test -p goodqueue-advise --test playground`.

export const LTE = {
  rtt: "50ms",
  // Packets in the buffer to the Internet.
  buffer: 330,
  down: "13300kbit,13600kbit@0.5s,12800kbit@1.0s,12100kbit@1.5s,8100kbit@2.0s,10000kbit@2.5s,9300kbit@3.0s,7800kbit@3.5s,6000kbit@4.0s,3800kbit@4.5s,3600kbit@5.0s,4900kbit@5.5s,10200kbit@6.0s,12100kbit@6.5s,12200kbit@7.0s,19000kbit@7.5s,16500kbit@8.0s,22600kbit@8.5s,21800kbit@9.0s,22800kbit@9.5s,21600kbit@10.0s,22000kbit@10.5s,22700kbit@11.0s,19300kbit@11.5s",
  up: "3500kbit,5200kbit@0.5s,5000kbit@1.0s,3300kbit@1.5s,4500kbit@2.0s,5200kbit@2.5s,3800kbit@3.0s,3800kbit@3.5s,3800kbit@4.0s,3500kbit@4.5s,3300kbit@5.0s,2600kbit@5.5s,1200kbit@6.0s,1600kbit@6.5s,2200kbit@7.0s,1100kbit@7.5s,2900kbit@8.0s,3400kbit@8.5s,2800kbit@9.0s,2200kbit@9.5s,3800kbit@10.0s,3800kbit@10.5s,4100kbit@11.0s,3000kbit@11.5s",
};

export const LEO = {
  rtt: "40ms",
  // Packets in the buffer to the Internet.
  buffer: 198,
  down: "124900kbit,87200kbit@15.0s,93800kbit@30.0s,145400kbit@45.0s",
  up: "9000kbit,16700kbit@15.0s,10400kbit@30.0s,14900kbit@45.0s",
};
